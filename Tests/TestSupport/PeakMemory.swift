import Foundation

/// The most memory a piece of work took at any time, for tests in a process of their own.
package enum PeakMemory {
    /// Bytes that were resident at most while `body` ran, beyond those that were at its beginning; 0 where the system does
    /// not say.
    package static func growth(during body: () throws -> Void) rethrows -> Int {
        // Makes the kernel forget the peak so far; where it may not, what is found is no less.
        if let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") {
            try? file.write(contentsOf: Data("5".utf8))
            try? file.close()
        }
        let before = status("VmRSS:")
        try body()
        return max(0, status("VmHWM:") - before)
    }

    private static func status(_ name: String) -> Int {
        guard let data = FileManager.default.contents(atPath: "/proc/self/status") else { return 0 }
        let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }
}
