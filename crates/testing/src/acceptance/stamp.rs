//! The macro that stamps a test for a fact.

/// Stamps a test for each of these facts.
#[doc(hidden)]
#[macro_export]
macro_rules! __acceptance_facts {
    ($world:ty: $($fact:ident)+) => {
        $(
            #[test]
            fn $fact() {
                $crate::acceptance::show::<$world>(|scene| {
                    ::std::boxed::Box::pin($crate::acceptance::facts::$fact(scene))
                });
            }
        )+
    };
}
