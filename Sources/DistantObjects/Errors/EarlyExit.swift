import PortTransport

/// The end of a launched program that was never connected.
struct EarlyExit: Error {
    let child: ChildProcess
    let status: ChildProcess.ExitStatus
}
