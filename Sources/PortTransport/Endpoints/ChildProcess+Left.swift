extension ChildProcess {
    /// A process that a launched program has started, and that has outlived it.
    public struct LeftProcess: Sendable, Hashable, CustomStringConvertible {
        /// Its number, which another process may have as soon as it has ended.
        public let pid: Int32
        /// The name of its program, at most 15 bytes, without control characters.
        public let program: String

        /// The number and the name, such as "4711 (sleep)".
        public var description: String { "\(pid) (\(program))" }
    }

    /// The variable that tells a process and all that it starts from others: its value is another one for each launch.
    static let launchVariable = "DISTANT_OBJECTS_LAUNCH"

    /// The value of `launchVariable` for the next launch.
    static func launchName() -> String { String(UInt64.random(in: 1...UInt64.max), radix: 36) }

    /// The processes that this one has started, directly or not, which have left its group and run now.
    ///
    /// They are found by a variable that a program passes on to what it starts. One that is started without it is not found, nor one
    /// of another user. Those that the program has launched with this library are not among them: they end with their connections.
    /// Always empty where the system does not show the variables of processes.
    ///
    /// - Complexity: O(*n*) in the number of processes of the system.
    package var leftProcesses: [LeftProcess] {
        guard let launchName else { return [] }
        let variable = Array("\(Self.launchVariable)=\(launchName)".utf8)
        let group = Array("\(pid)".utf8)
        return SystemProcesses.all.sorted().compactMap { other in
            guard other != pid, SystemProcesses.variables(other).contains(where: { $0.elementsEqual(variable) }) else {
                return nil
            }
            let fields = SystemProcesses.fields(other)
            // The third field is the group: what belongs to it is ended with it.
            guard fields.count > 2, !SystemProcesses.isZombie(fields), !fields[2].elementsEqual(group),
                !SystemProcesses.isEnding(other)
            else { return nil }
            // A line feed ends it.
            let name = String(decoding: SystemProcesses.content("/proc/\(other)/comm").dropLast(), as: UTF8.self)
            return LeftProcess(pid: other, program: PlainText.line(name))
        }
    }
}
