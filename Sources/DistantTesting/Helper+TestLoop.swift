public import DistantObjects

extension Helper {
    /// A helper that runs on a loop which the test runs by hand: its pauses, pings and time-outs pass when the test turns the clock.
    ///
    /// - Parameters:
    ///   - interface: What the root of each connection implements.
    ///   - name: What it is called in errors.
    ///   - policy: When the function is called again.
    ///   - options: As for a helper on the process's loop.
    ///   - loop: Runs the helper. The connections that the function opens should be on it, too.
    ///   - open: Opens a connection, which the helper closes: usually that of a ``TestPeer``.
    public convenience init(
        _ interface: I.Type, name: String = "helper", restart policy: RestartPolicy = .onFailure,
        options: HelperOptions = .init(), on loop: TestLoop,
        opening open: @escaping @Sendable () async throws -> Connection
    ) {
        var options = options
        options.configuration.loop = loop.manual
        self.init(interface, name: name, restart: policy, options: options, opening: open)
    }
}
