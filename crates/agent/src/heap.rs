//! Memory that this process has freed and the allocator keeps.

/// Gives freed memory back to the system. Takes a moment for each hundred megabytes, in which other threads may have to
/// wait for the allocator; so it is for when much was freed at once.
#[allow(unsafe_code)]
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes a number of bytes to keep; thread-safe, and moves nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
