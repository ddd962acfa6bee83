internal import CPortShims
internal import Synchronization

/// What belongs to a process of ssh.
package final class SecureShellSession: Sendable {
    package let shell: SecureShell
    /// What it writes to its standard error.
    package let errors: ProcessOutput
    /// The writing end of a pipe with whose end ssh ends; -1 if there is none any more.
    private let leash: Mutex<CInt>

    init(_ shell: SecureShell, _ errors: ProcessOutput, leash: CInt) {
        self.shell = shell
        self.errors = errors
        self.leash = Mutex(leash)
    }

    deinit { letGo() }

    /// Closes the descriptor that holds ssh.
    func letGo() {
        let descriptor = leash.withLock { leash in
            defer { leash = -1 }
            return leash
        }
        if descriptor >= 0 { port_close(descriptor) }
    }
}
