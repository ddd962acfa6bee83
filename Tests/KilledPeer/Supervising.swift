import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A tool with a helper, which is this program, too.
enum Supervising {
    struct CrasherInterface: Interface {
        let pid = Signature<Int32>("pid")
        let sleeper = Signature<Int32>("sleeper")
    }

    /// Says the numbers of the helper's process and of one that this has started, and waits for its end.
    ///
    /// - Parameter ways: The helper's arguments.
    static func run(_ ways: [String]) async throws {
        var options = HelperOptions()
        options.arguments = ["crash"] + ways
        options.configuration = .patient
        let helper = Helper(CrasherInterface.self, CommandLine.arguments[0], options: options)
        let (pid, sleeper) = (try await helper.remote.pid(), try await helper.remote.sleeper())
        print("\(pid) \(sleeper)")
        fflush(nil)
        for await _ in helper.events {}
    }
}
