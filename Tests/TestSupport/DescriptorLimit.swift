#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How many descriptors the process of the tests may have.
enum DescriptorLimit {
    /// What all tests together need, with room to spare.
    private static let needed: rlim_t = 8_192

    /// Raises the limit, as far as it may be raised, if it is lower than what the tests need.
    ///
    /// Many systems begin with 1,024 or 256, and tests that run at the same time have more connections than that. Processes
    /// that the tests start inherit the limit.
    static func raise() { _ = isRaised }

    private static let isRaised: Bool = {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < needed else { return false }
        limit.rlim_cur = min(needed, limit.rlim_max)
        return setrlimit(resource, &limit) == 0
    }()
}
