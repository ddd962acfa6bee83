import CPortShims
import TestSupport
import Testing

@testable import PortTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Descriptors of the standard streams", .bounded())
struct StandardStreamTests {
    private enum Way: CaseIterable {
        case socketpair, pipe, socket, poller, process, folder, null, file, accepted, received
        #if os(Linux)
            case memory, region, doorbell
        #endif

        /// Opens descriptors in this way, and returns them.
        func open() throws -> [CInt] {
            switch self {
            case .socketpair:
                let (one, other) = try ChannelEndpoint.socketPairDescriptors()
                return [one, other]
            case .pipe:
                let (one, other) = try ChannelEndpoint.pipeDescriptors()
                return [one, other]
            case .socket: return [port_stream_socket()]
            case .poller:
                var poller = port_poller()
                try #require(port_poller_open(&poller) == 0)
                return [poller.descriptor, poller.wake].filter { $0 >= 0 }
            case .process: return [port_process_descriptor(getpid())]
            case .folder: return [port_folder_open("/")]
            case .null: return [port_open_null()]
            case .file: return [port_open_file("/dev/null")]
            case .accepted: return try accept()
            case .received: return try receive()
            #if os(Linux)
                case .memory: return [port_memory_make(4_096)]
                case .region:
                    var memory: UnsafeMutableRawPointer?
                    return [port_region_make(4_096, &memory)]
                case .doorbell:
                    var (own, given): (CInt, CInt) = (-1, -1)
                    try #require(port_doorbell_make(&own, &given) == 0)
                    return [own, given]
            #endif
            }
        }
    }

    private static func accept() throws -> [CInt] {
        let folder = try TemporaryFolder()
        let path = folder.socket
        let listener = port_bind(path, 0o600)
        try #require(listener > 2 && port_listen(listener, 1) == 0)
        let client = port_connect(path)
        return [listener, client, port_accept(listener)]
    }

    private static func receive() throws -> [CInt] {
        let (sender, receiver) = try ChannelEndpoint.socketPairDescriptors()
        // As if somebody had closed it just now.
        close(0)
        var byte: UInt8 = 1
        var ancillary = port_ancillary()
        try withUnsafeMutableBytes(of: &byte) { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: 1)
            try #require(port_send(sender, &vector, 1, [sender], 1, false) == 1)
            try #require(port_receive(receiver, &vector, 1, &ancillary) == 1)
        }
        try #require(ancillary.count == 1)
        return [sender, receiver, ancillary.descriptors.0]
    }

    @Test("No descriptor that is opened has the number of one that is closed, and reading and printing still fail")
    func closedInStandardStream() async {
        await #expect(processExitsWith: .success) {
            for way in Way.allCases {
                var fault: String? = "not tried"
                // Another thread of the process, such as one of Dispatch, may take a number meanwhile. A way that opens
                // descriptors with such numbers does so each time.
                for _ in 0..<50 where fault != nil { fault = try Self.fault(of: way) }
                #expect(fault == nil, "\(way)")
            }
        }
    }

    /// Closes the standard streams and opens descriptors; nil if all is as it should be.
    private static func fault(of way: Way) throws -> String? {
        for number: CInt in 0...2 { close(number) }
        let opened = try way.open()
        guard !opened.isEmpty, opened.allSatisfy({ $0 > 2 }) else { return "\(opened) are opened" }
        guard opened.allSatisfy({ fcntl($0, F_GETFD) & FD_CLOEXEC != 0 }) else { return "one is not close-on-exec" }
        // Anything else could have a reader wait.
        let null = port_open_null()
        defer { close(null) }
        guard (0...2).allSatisfy({ port_same_file($0, null) }) else { return "a standard stream is another file" }
        var byte: UInt8 = 0
        guard read(0, &byte, 1) < 0, errno == EBADF else { return "standard input can be read" }
        for number: CInt in 1...2 {
            guard write(number, &byte, 1) < 0, errno == EBADF else { return "\(number) can be written" }
        }
        return nil
    }

    @Test("A descriptor that has such a number all the same is moved")
    func moved() async {
        await #expect(processExitsWith: .success) {
            for number: CInt in 0...2 {
                var ends: [CInt] = [-1, -1]
                try #require(pipe(&ends) == 0)
                dup2(ends[1], number)
                let moved = port_above_standard(number)
                #expect(moved > 2 && port_same_file(moved, ends[1]) && !port_same_file(number, ends[1]))
                #expect(port_above_standard(moved) == moved)
            }
            #expect(port_above_standard(-1) == -1)
        }
    }

    @Test("A socket that is a standard stream of this process is moved, and what is printed stays out of it")
    func adoptedInStandardStream() async {
        await #expect(processExitsWith: .success) {
            let (one, other) = try ChannelEndpoint.socketPairDescriptors()
            dup2(one, 1)
            close(one)
            let endpoint = try ChannelEndpoint.socket(1)
            var byte: UInt8 = 7
            #expect(write(1, &byte, 1) == 1)
            #expect(port_unread(other) == 0)
            guard case .socket(let moved)? = endpoint.take() else { return #expect(Bool(false)) }
            #expect(moved > 2 && write(moved, &byte, 1) == 1 && port_unread(other) == 1)
        }
    }
}
