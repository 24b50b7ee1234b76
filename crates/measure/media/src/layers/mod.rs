//! The layers, a file each with its manual next to it, listed by hand from what lies lowest to what lies highest.

mod btrfs;
mod dm_crypt;
mod ext2;
mod ext4;
mod filesystem;
mod folder;
mod fscrypt;
mod gocryptfs;
mod loop_device;
mod luks;
mod ram;
mod raw;
mod xfs;
mod zram;

use crate::layer::MediumLayer;

/// All layers; what is not listed does not exist.
pub const LAYERS: &[&MediumLayer] = &[
    &folder::LAYER,
    &loop_device::LAYER,
    &ram::LAYER,
    &zram::LAYER,
    &dm_crypt::LAYER,
    &luks::LAYER,
    &raw::LAYER,
    &ext2::LAYER,
    &ext4::LAYER,
    &xfs::LAYER,
    &btrfs::LAYER,
    &fscrypt::LAYER,
    &gocryptfs::LAYER,
];

#[cfg(test)]
mod tests {
    use super::LAYERS;

    #[test]
    fn layers_that_encrypt_are_layers() {
        for name in plumb_model::ENCRYPTING {
            assert!(LAYERS.iter().any(|layer| layer.name == name), "{name}");
        }
    }
}
