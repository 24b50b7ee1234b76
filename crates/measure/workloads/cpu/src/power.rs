//! Where a long chain of multiplications must end.

/// A power modulo 2^64.
pub(super) fn power(base: u64, mut exponent: u64) -> u64 {
    let mut square = base;
    let mut product = 1_u64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = product.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn powers_are_products() {
        assert_eq!((power(3, 0), power(3, 5), power(2, 64)), (1, 243, 0));
        let product =
            (0..1000).fold(1_u64, |product, _| product.wrapping_mul(0xd134_2543_de82_ef95));
        assert_eq!(power(0xd134_2543_de82_ef95, 1000), product);
    }
}
