internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Descriptors that this process was started with, by name; each is taken once.
final class PassedDescriptors: @unchecked Sendable {  // `lock` protects `passed`.
    struct Passed: Sendable {
        let name: String
        let descriptor: CInt
    }

    private let lock = Lock()
    private let read: @Sendable () -> [Passed]
    /// Those that are not taken; nil until they are read.
    private var passed: [Passed]?

    /// - Parameter read: Reads what the environment says, and removes that; called once.
    init(_ read: @escaping @Sendable () -> [Passed]) { self.read = read }

    deinit { lock.destroy() }

    /// Removes and returns a descriptor, which the caller owns.
    ///
    /// - Parameter name: Nil for the first that is left.
    /// - Returns: The descriptor, if there is one, and the names of those that are left.
    func take(named name: String?) -> (Passed?, left: [String]) {
        lock.withLock {
            var all = passed ?? read()
            let index = name.map { name in all.firstIndex { $0.name == name } } ?? (all.isEmpty ? nil : 0)
            let taken = index.map { all.remove(at: $0) }
            passed = all
            return (taken, all.map(\.name))
        }
    }

    /// Makes descriptors close-on-exec that follow each other.
    ///
    /// - Parameters:
    ///   - count: At most so many: the first one that is not open, or was opened by this process and so is close-on-exec, ends the list.
    ///     A wrong count must neither cause a loop over billions of numbers, nor take descriptors of others.
    ///   - names: One for each; nil if they have none.
    static func open(from first: CInt, count: CInt, _ names: [String]?) -> [Passed] {
        var passed: [Passed] = []
        for descriptor in first..<(first + count) {
            guard port_is_inherited(descriptor) else { break }
            _ = port_set_close_on_exec(descriptor)
            let name = names.map { $0[Int(descriptor - first)] }
            passed.append(Passed(name: name ?? "unknown", descriptor: descriptor))
        }
        return passed
    }
}
