import SyntaxServiceValues

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Trouble {
    /// A helper whose editor does not end it takes no more than that.
    private static let mostLeaked = 256 << 20

    /// Does what real parsers do by mistake.
    func happen() async throws {
        switch self {
        case .crash: abort()
        case .hang: raise(SIGSTOP)
        case .slow:
            // Ends when the call is cancelled, as by its time-out.
            while true {
                try Task.checkCancellation()
                usleep(1_000)
            }
        case .print:
            Swift.print("found the name “print”")
            fflush(nil)
        case .leak:
            var blocks: [[UInt8]] = []
            while blocks.count < Self.mostLeaked >> 20 { blocks.append(Array(repeating: 1, count: 1 << 20)) }
            try await Task.sleep(for: .seconds(3_600))
            withExtendedLifetime(blocks) {}
        }
    }
}
