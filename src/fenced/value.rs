//! A value that only a valid lease opens.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use super::OpenError;
use crate::{
    core::{Fence, InvalidValue, Mode, ResourceName},
    lease::Lease,
};

/// A value that only a valid lease of one resource opens: a client of a database, for instance, that nobody may use
/// without the lock.
///
/// It makes it impossible to write without a lock, or under the lock of something else, in this process. Only the receiver
/// of a write can guard against a holder that is frozen between [`open`](Self::open) and its write. That is why an opened
/// value has the [`fence`](Opened::fence).
pub struct Fenced<T> {
    resource: ResourceName,
    value: T,
}

impl<T> Fenced<T> {
    /// Closes a value: from now on a lease of this resource opens it.
    ///
    /// # Errors
    /// [`InvalidValue`] when the name of the resource is empty or longer than 512 bytes.
    pub fn new(resource: impl AsRef<[u8]>, value: T) -> Result<Self, InvalidValue> {
        Ok(Self { resource: ResourceName::new(resource)?, value })
    }

    /// Returns the resource whose lease opens the value.
    pub fn resource(&self) -> &ResourceName {
        &self.resource
    }

    /// Opens the value to read it, or to use what can be shared. A lease of any mode is enough.
    ///
    /// # Errors
    /// [`OpenError`]: the lease is one of another resource, may not hold any more, or has no fence.
    pub fn open<'a>(&'a self, lease: &'a Lease) -> Result<Opened<'a, &'a T>, OpenError> {
        let fence = self.check(lease)?;
        Ok(Opened { value: &self.value, fence, lease })
    }

    /// Opens the value to change it, with an exclusive lease.
    ///
    /// # Errors
    /// As for [`open`](Self::open); [`OpenError::NotAlone`] when the lease is not exclusive.
    pub fn open_mut<'a>(&'a mut self, lease: &'a Lease) -> Result<Opened<'a, &'a mut T>, OpenError> {
        let fence = self.check(lease)?;
        match lease.mode() {
            Mode::Exclusive => Ok(Opened { value: &mut self.value, fence, lease }),
            mode => Err(OpenError::NotAlone { resource: self.resource.clone(), mode }),
        }
    }

    /// Returns the value, which nothing protects from now on.
    pub fn into_inner(self) -> T {
        self.value
    }

    fn check(&self, lease: &Lease) -> Result<Fence, OpenError> {
        let (needed, held) = (&self.resource, lease.resource());
        if needed != held {
            return Err(OpenError::OtherResource { needed: needed.clone(), held: held.clone() });
        }
        valid(lease)?;
        lease.fence().ok_or_else(|| OpenError::NoFence { resource: needed.clone() })
    }
}

fn valid(lease: &Lease) -> Result<(), OpenError> {
    let over = || Err(OpenError::NotValid { resource: lease.resource().clone() });
    if lease.is_valid() { Ok(()) } else { over() }
}

/// Shows the resource, and nothing of the value.
impl<T> fmt::Debug for Fenced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fenced").field("resource", &self.resource).finish_non_exhaustive()
    }
}

/// An opened value. It borrows the lease, which therefore can be neither dropped nor released meanwhile; it can be lost.
#[must_use = "a value is opened to be used"]
pub struct Opened<'a, R> {
    value: R,
    fence: Fence,
    lease: &'a Lease,
}

impl<R> Opened<'_, R> {
    /// Returns the fence of the lease, for the receiver of a write. As with other smart pointers it is called as
    /// `Opened::fence(&opened)`, so that it hides no method of the value.
    pub fn fence(this: &Self) -> Fence {
        this.fence
    }

    /// Checks again that the lease holds. Only the clock is read, so a long work can ask before each of its steps.
    ///
    /// # Errors
    /// [`OpenError::NotValid`] when the lease may not hold any more.
    pub fn check(this: &Self) -> Result<(), OpenError> {
        valid(this.lease)
    }
}

impl<R: Deref> Deref for Opened<'_, R> {
    type Target = R::Target;

    fn deref(&self) -> &R::Target {
        &self.value
    }
}

impl<R: DerefMut> DerefMut for Opened<'_, R> {
    fn deref_mut(&mut self) -> &mut R::Target {
        &mut self.value
    }
}

impl<R> fmt::Debug for Opened<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("fence", &self.fence)
            .field("lease", self.lease)
            .finish_non_exhaustive()
    }
}
