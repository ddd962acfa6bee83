import PortTransport

/// What a process of a helper writes to its standard streams, as far as this process reads it.
struct HelperOutput: Sendable {
    private(set) var errors: ProcessOutput?
    private(set) var printed: ProcessOutput?

    /// The output of a process that was not started with options, such as `ssh`.
    init(of child: ChildProcess?) {
        errors = child?.session?.errors
    }

    /// Begins to read what the options want read.
    ///
    /// - Throws: `ConnectionError.transport` if the system has no pipe or thread left.
    init(_ options: HelperOptions) throws {
        errors = try options.standardError.reader("standard error")
        guard options.process.standardOutput == nil else { return }
        do { printed = try options.standardOutput?.reader("standard output") } catch {
            errors?.closeWriting()
            throw error
        }
    }

    /// The options of the process, with its standard output.
    func processOptions(_ options: HelperOptions) -> ChildProcess.Options {
        var process = options.process
        if process.standardOutput == nil {
            process.standardOutput = options.standardOutput == .inherited ? 1 : printed?.writing
        }
        return process
    }

    /// Closes this process's copies of the streams, once the process has its own.
    func closeWriting() {
        errors?.closeWriting()
        printed?.closeWriting()
    }

    /// Waits for a moment until all is read that a process has written which has ended.
    func finish(on loop: any PortLoop) async {
        async let rest: Void? = printed?.finish(on: loop)
        await errors?.finish(on: loop)
        await rest
    }
}

extension HelperOptions.Output {
    /// Reads what a helper writes; nil if it writes to a stream of this process itself.
    fileprivate func reader(_ stream: String) throws -> ProcessOutput? {
        let prefix: String?
        switch self {
        case .inherited: return nil
        case .prefixed(let text): prefix = text
        case .kept: prefix = nil
        }
        do { return try ProcessOutput(prefix: prefix) } catch {
            throw ConnectionError(.transport, error.message, context: stream, underlying: error)
        }
    }
}
