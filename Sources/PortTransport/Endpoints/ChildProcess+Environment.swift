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

    /// The environment of a program: this process's, with the variables that are added.
    ///
    /// - Parameter own: The variables of this library that it gets; it does not inherit those of this process.
    /// - Throws: `launchFailed` if a variable contains a zero byte, or its name is empty or contains "=".
    static func variables(
        _ added: [String: String], _ options: Options, own: [String: String]
    ) throws(TransportError) -> SystemStrings {
        var changes: [[UInt8]: [UInt8]] = [:]
        for (name, value) in added { changes[Array(name.utf8)] = Array(value.utf8) }
        changes.merge(options.environmentBytes) { _, bytes in bytes }
        for (name, value) in own { changes[Array(name.utf8)] = Array(value.utf8) }
        let dropped = Set(
            [channelVariable, launcherVariable, descriptorsVariable, launchVariable].map { Array($0.utf8) })

        var strings = SystemStrings()
        try ProcessEnvironment.forEach { variable throws(TransportError) in
            let name = Array(variable.prefix { $0 != UInt8(ascii: "=") })
            if changes[name] == nil, !dropped.contains(name) {
                try strings.append(variable, "a variable of this process")
            }
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
