#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The sanitizer that this process runs with.
///
/// Tests that limit memory or stack check it, because a sanitizer needs several times as much.
package enum Sanitizer {
    /// Whether it is the address or the thread sanitizer.
    package static var isActive: Bool { isAddress || isThread }

    package static var isAddress: Bool { has("__asan_init") }
    package static var isThread: Bool { has("__tsan_init") }

    private static func has(_ symbol: String) -> Bool { dlsym(dlopen(nil, RTLD_NOW), symbol) != nil }
}
