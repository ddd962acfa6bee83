#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The sanitizer this process runs with.
///
/// A test that limits memory or stack to what the product needs asks here: a sanitizer needs several times as much.
package enum Sanitizer {
    /// Whether it is the address or the thread sanitizer.
    package static var isActive: Bool { isAddress || isThread }

    package static var isAddress: Bool { has("__asan_init") }
    package static var isThread: Bool { has("__tsan_init") }

    private static func has(_ symbol: String) -> Bool { dlsym(dlopen(nil, RTLD_NOW), symbol) != nil }
}
