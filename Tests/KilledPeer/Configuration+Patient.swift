import DistantObjects

extension Connection.Configuration {
    /// The defaults, with a long time for look-ups, because the library's own may be too short on a busy machine.
    static var patient: Self {
        var configuration = Self()
        configuration.lookupTimeout = .seconds(600)
        return configuration
    }

    /// As `patient`, for a process that opens a connection: the other one may be slow to begin.
    static var patientOpening: Self {
        var configuration = patient
        configuration.handshakeTimeout = .seconds(600)
        return configuration
    }
}
