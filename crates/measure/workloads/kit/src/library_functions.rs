//! Functions of a C library that is loaded when a workload asks for it.

/// Declares the functions of a C library as a type with a field for each. Its function `of` looks all of them up in a
/// library, or returns the name of the first that is missing.
///
/// The types must be those of the library's headers: nothing can check them.
#[macro_export]
macro_rules! library_functions {
    (
        $(#[$about:meta])*
        $type:ident {
            $($name:ident = $symbol:literal: fn($($argument:ty),*) -> $result:ty;)*
        }
    ) => {
        $(#[$about])*
        pub(super) struct $type {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl $type {
            /// All functions, or the name of the first one that is missing.
            pub(super) fn of(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    // SAFETY: the types are those of the library's headers.
                    $($name: *unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> $result>($symbol.as_bytes())
                    }
                    .map_err(|_| $symbol)?,)*
                })
            }
        }
    };
}
