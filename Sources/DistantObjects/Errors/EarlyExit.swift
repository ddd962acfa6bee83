import PortTransport

/// The end of a launched program that was never connected.
struct EarlyExit: Error {
    let status: ChildProcess.ExitStatus
}
