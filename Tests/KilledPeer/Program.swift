#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An error of the system, by its number.
struct SystemError: Error {
    let number: Int32

    /// - Returns: The result of a system call.
    /// - Throws: If it is below 0.
    @discardableResult
    static func check(_ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw SystemError(number: errno) }
        return result
    }
}

/// A program to start.
struct Program {
    var path = CommandLine.arguments[0]
    var arguments: [String] = []
    /// The descriptors that it gets, with the numbers that they have there.
    var descriptors: [(CInt, CInt)] = []

    /// Starts it, in this process's environment.
    @discardableResult
    func start() throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (here, there) in descriptors { posix_spawn_file_actions_adddup2(&actions, here, there) }
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, path, &actions, nil, &words, environ)
        guard failure == 0 else { throw SystemError(number: failure) }
        return pid
    }
}
