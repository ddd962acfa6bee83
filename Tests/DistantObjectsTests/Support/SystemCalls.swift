import CPortShims
import Testing

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

private func localAddress(_ port: UInt16 = 0) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}

/// A socket that is bound to a free port of this machine, and its port.
func systemListeningSocket() throws -> (descriptor: CInt, port: UInt16) {
    let descriptor = socket(AF_INET, streamSocket, 0)
    var address = localAddress()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
        }
    }
    try #require(isBound)
    return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// A socket that is connected to a port of this machine; negative if nobody listens.
func systemConnectedSocket(to port: UInt16) -> CInt {
    let descriptor = socket(AF_INET, streamSocket, 0)
    var address = localAddress(port)
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
    if isConnected { return descriptor }
    close(descriptor)
    return -1
}

/// The next client of a socket, close-on-exec; negative once it is shut down.
func systemAccept(_ descriptor: CInt) -> CInt {
    let client = accept(descriptor, nil, nil)
    if client >= 0 { _ = fcntl(client, F_SETFD, FD_CLOEXEC) }
    return client
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

/// Two connected sockets.
func socketPair() throws -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    try #require(port_socketpair(&ends) == 0)
    return (ends[0], ends[1])
}
