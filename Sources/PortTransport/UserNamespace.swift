internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The meaning of user numbers in this process.
package enum UserNamespace {
    /// Whether a number stands for all users that have no number in this process's user namespace.
    ///
    /// Two peers with it need not be the same user.
    ///
    /// Only Linux has such namespaces; the number is 65534 there, unless set otherwise.
    package static func isAmbiguous(_ uid: UInt32) -> Bool {
        #if canImport(Glibc)
            guard uid == overflow else { return false }
            return !mapsAll(contents(of: "/proc/self/uid_map"))
        #else
            return false
        #endif
    }

    /// Whether the kernel's table gives every user a number.
    ///
    /// Its lines hold the first number inside, the first outside, and a count.
    ///
    /// - Parameter table: Nil where the system has no namespaces.
    package static func mapsAll(_ table: String?) -> Bool {
        guard let table else { return true }
        let counts = table.split(separator: "\n").compactMap { $0.split(separator: " ").last.flatMap { UInt64($0) } }
        return counts.reduce(0, +) >= UInt64(UInt32.max)
    }

    #if canImport(Glibc)
        private static let overflow =
            contents(of: "/proc/sys/kernel/overflowuid").flatMap { $0.split(separator: "\n").first }
            .flatMap { UInt32($0) } ?? 65_534

        /// Nil if there is no such file; empty if it cannot be read.
        private static func contents(of path: String) -> String? {
            let descriptor = port_open_file(path)
            guard descriptor >= 0 else { return errno == ENOENT ? nil : "" }
            defer { port_close(descriptor) }
            var contents: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return String(decoding: contents, as: UTF8.self) }
                contents += chunk[..<count]
            }
        }
    #endif
}
