import PortTransport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

extension ChildProcess {
    /// Stops the process, unless it has ended: from here on it reads nothing.
    ///
    /// - Parameter signal: One that stops it.
    func stop(by signal: Int32 = SIGSTOP) async {
        send(signal)
        await eventually("it is stopped") {
            if exitStatus != nil { return true }
            guard let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return false }
            return String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" T") == true
        }
    }
}
