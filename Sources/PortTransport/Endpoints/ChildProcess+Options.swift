extension ChildProcess {
    /// What a launched program gets from this one, apart from its connection.
    ///
    /// The defaults are those of a helper that works in the background: it reads nothing, prints to standard error, and is
    /// ended by the program that launched it, not by the terminal.
    public struct Options: Sendable, Hashable {
        /// A descriptor for its standard input, borrowed until the launch returns; nil: it reads nothing.
        ///
        /// 0 lets it read the standard input of this process.
        public var standardInput: CInt?
        /// A descriptor for its standard output, borrowed until the launch returns; nil: what it prints goes to its standard
        /// error.
        ///
        /// 1 lets it print to the standard output of this process.
        public var standardOutput: CInt?
        /// Whether it belongs to the process group of this process.
        ///
        /// Then Ctrl-C in a terminal ends it together with this process, and Ctrl-Z stops it. Otherwise it has a group of its
        /// own, whose number is its process number. It learns from the end of its connection that this process is gone.
        public var sharesProcessGroup: Bool
        /// Whether all processes of its group are killed when it has ended.
        ///
        /// So nothing stays of what it has started, apart from processes that have left its group. It has no effect with
        /// `sharesProcessGroup`.
        public var endsGroup: Bool
        /// Whether the process is killed, with its group, a second after this process has ended, however that has ended.
        ///
        /// A thread of the library in the process sees to it, from `Connection.parent()` on, even if its other threads are blocked.
        public var endsWithLauncher: Bool
        /// Further descriptors that the process gets, by name, borrowed until the launch returns.
        ///
        /// The process finds them with `ChildProcess.takeDescriptor(named:)`. A name has 1 to 255 visible characters of ASCII and no
        /// colon; at most 100 are passed. No other descriptor of this process is inherited.
        public var descriptors: [String: CInt]
        /// Arguments after the others.
        ///
        /// They need not be UTF-8, as the name of a file need not.
        public var argumentBytes: [[UInt8]]
        /// Variables in addition to the others, and before them if they have the same name.
        ///
        /// They need not be UTF-8.
        public var environmentBytes: [[UInt8]: [UInt8]]

        /// The defaults: a program that reads nothing, prints to standard error, and has a process group of its own.
        public init() {
            standardInput = nil
            standardOutput = nil
            sharesProcessGroup = false
            endsGroup = false
            endsWithLauncher = false
            descriptors = [:]
            argumentBytes = []
            environmentBytes = [:]
        }
    }
}
