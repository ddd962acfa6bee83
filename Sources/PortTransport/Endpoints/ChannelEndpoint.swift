internal import CPortShims

/// One end of a connection before a channel uses it.
///
/// It owns its descriptors, and closes them if it is not taken.
package final class ChannelEndpoint: @unchecked Sendable {  // `lock` protects `link`.
    enum CredentialSource: Sendable {
        /// For pipes, which have no credentials.
        case none
        /// The kernel recorded the peer when the connection was made.
        case connected
        /// A socketpair has its creator's credentials at both ends, so the sender's credentials come with the first
        /// bytes.
        case message

        /// Apple's systems have no such message. They record for a socketpair which process last used its other end.
        #if canImport(Darwin)
            static let ofSocketpair = CredentialSource.connected
        #else
            static let ofSocketpair = CredentialSource.message
        #endif
    }

    private let lock = Lock()
    /// Nil once it is taken.
    private var link: Link?
    let credentialSource: CredentialSource
    /// Whether the channel asks the kernel which process sends the first bytes, and ends with that process.
    ///
    /// Not for accepted sockets: a client may fork and leave the connection to its child, and a descriptor for each client
    /// would halve the number of clients.
    let learnsSpeaker: Bool
    /// Whether frames can carry descriptors.
    package let carriesDescriptors: Bool

    init(link: Link, credentials: CredentialSource, learnsSpeaker: Bool = false) {
        self.link = link
        credentialSource = credentials
        #if canImport(Darwin)
            self.learnsSpeaker = false
        #else
            self.learnsSpeaker = learnsSpeaker || credentials == .message
        #endif
        if case .socket(let descriptor) = link {
            carriesDescriptors = true
            _ = port_prepare_channel(descriptor)
            // Before the peer can send: the kernel adds nothing to bytes that are already sent.
            if self.learnsSpeaker { _ = port_pass_credentials(descriptor, true) }
        } else {
            carriesDescriptors = false
        }
    }

    deinit {
        link?.close()
        lock.destroy()
    }

    /// Removes the link, which the caller owns from now on; nil if it was taken before.
    func take() -> Link? {
        lock.withLock {
            let taken = link
            link = nil
            return taken
        }
    }

    /// The process that made the other end; nil on pipes, and on socketpairs, whose channel learns it with the first
    /// frame.
    package var peer: PeerCredentials? {
        lock.withLock {
            guard credentialSource == .connected, let link else { return nil }
            switch link {
            case .socket(let descriptor):
                var credentials = port_credentials()
                return port_peer_credentials(descriptor, &credentials) < 0 ? nil : PeerCredentials(credentials)
            case .memory: return PeerCredentials.current
            case .streams: return nil
            }
        }
    }
}
