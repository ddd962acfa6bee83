#if canImport(Glibc)
    import Glibc

    let streamSocket = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    private let noSignal = CInt(MSG_NOSIGNAL)
#else
    import Darwin

    let streamSocket = SOCK_STREAM
    private let noSignal: CInt = 0
#endif

// These have a prefix because test types have methods of the same names.

func systemRead(_ descriptor: CInt, _ bytes: inout [UInt8]) -> Int { read(descriptor, &bytes, bytes.count) }

func systemSend(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
    send(descriptor, bytes.baseAddress, bytes.count, noSignal)
}

func systemConnect(_ descriptor: CInt, to path: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
        target.copyBytes(from: path.utf8.prefix(target.count - 1))
    }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
    }
}

/// Limits the number of descriptors of the process.
func systemLimitDescriptors(_ count: Int) -> Bool {
    var limit = rlimit(rlim_cur: rlim_t(count), rlim_max: rlim_t(count))
    #if canImport(Glibc)
        return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    #else
        return setrlimit(RLIMIT_NOFILE, &limit) == 0
    #endif
}

/// The contents of a file; empty if it cannot be read.
///
/// For the kernel's files, which have no size and may need several reads.
func systemContents(of path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = systemRead(descriptor, &chunk)
        guard count > 0 else { return contents }
        contents += chunk[..<count]
    }
}
