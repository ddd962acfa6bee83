import PortTransport

/// What is known of a process of a helper that has ended.
struct HelperRemains: Sendable {
    private(set) var pid: Int32?
    private(set) var status: ChildProcess.ExitStatus?
    private(set) var errorLines = ""
    private(set) var outputLines = ""
    private(set) var left: [ChildProcess.LeftProcess] = []

    /// Nothing, because no process was started.
    init() {}

    /// - Parameters:
    ///   - connection: Its connection, which is closed.
    ///   - output: It is read to its end, if that comes soon.
    init(of connection: Connection, _ output: HelperOutput) async {
        await output.finish(on: connection.loop)
        let child = connection.child
        await self.init(of: child, child?.exitStatus.flatMap { child?.ofPeer($0) }, output)
    }

    /// - Parameter output: All of it that comes has been read.
    init(of child: ChildProcess?, _ status: ChildProcess.ExitStatus?, _ output: HelperOutput) async {
        pid = child?.pid
        self.status = status
        errorLines = output.errors?.lines ?? ""
        outputLines = output.printed?.lines ?? ""
        // A system may have many processes, and the loop has other connections.
        if let child { left = await Task.detached { child.leftProcesses }.value }
    }
}
