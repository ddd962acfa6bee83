internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension ChildProcess {
    /// The arguments of a program, which begin with its path.
    ///
    /// - Throws: `launchFailed` if one contains a zero byte.
    static func arguments(
        _ path: [UInt8], _ arguments: [String], _ options: Options
    ) throws(TransportError) -> SystemStrings {
        var strings = SystemStrings()
        try strings.append(path, "the program's path")
        for (index, argument) in arguments.enumerated() {
            try strings.append(argument.utf8, "argument \(index + 1)")
        }
        for (index, argument) in options.argumentBytes.enumerated() {
            try strings.append(argument, "argument \(arguments.count + index + 1)")
        }
        return strings
    }

    /// The environment of a program: this process's, with the variables that are added and the one that names its channel.
    ///
    /// - Throws: `launchFailed` if a variable contains a zero byte, or its name is empty or contains "=".
    static func variables(
        _ added: [String: String], _ options: Options, channel: String
    ) throws(TransportError) -> SystemStrings {
        var changes: [[UInt8]: [UInt8]] = [:]
        for (name, value) in added { changes[Array(name.utf8)] = Array(value.utf8) }
        changes.merge(options.environmentBytes) { _, bytes in bytes }
        changes[Array(channelVariable.utf8)] = Array(channel.utf8)
        if options.endsWithLauncher { changes[Array(launcherVariable.utf8)] = Array("\(getpid())".utf8) }

        var strings = SystemStrings()
        var entry = port_environment()
        while let start = entry?.pointee {
            let variable = UnsafeRawBufferPointer(start: start, count: strlen(start))
            if changes[Array(variable.prefix { $0 != UInt8(ascii: "=") })] == nil {
                try strings.append(variable, "a variable of this process")
            }
            entry = entry?.advanced(by: 1)
        }
        for (name, value) in changes {
            let text = String(decoding: name, as: UTF8.self)
            guard !name.isEmpty, !name.contains(UInt8(ascii: "=")) else {
                throw TransportError(
                    .launchFailed, "“\(text)” cannot be the name of a variable: it is empty or contains “=”")
            }
            try strings.append(name + [UInt8(ascii: "=")] + value, "the variable \(text)")
        }
        return strings
    }
}
