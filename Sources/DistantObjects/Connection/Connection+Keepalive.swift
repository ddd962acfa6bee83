import PortTransport
import Synchronization

// Keepalive, for links that can break without notice.
extension Connection {
    /// The number of silent intervals in a row after which the connection ends.
    private static let maximumSilences = 3

    /// Starts the checks, after the handshake.
    ///
    /// They run once in each interval until the connection has ended.
    func keepAlive(every interval: Duration?) {
        guard let interval, interval > .zero else { return }
        scheduleSilenceCheck(interval, seen: channel.framesReceived, silences: 0)
    }

    /// Schedules the next check.
    ///
    /// The peer gets a ping after the first silent interval. So a process that was suspended waits for an answer before it
    /// ends the connection.
    private func scheduleSilenceCheck(_ interval: Duration, seen: UInt64, silences: Int) {
        // The timer must not hold the connection, which would then never be dropped.
        let timer = loop.addTimer(after: interval) { [channel] in
            (channel.handler as? Connection)?.checkSilence(interval, seen: seen, silences: silences)
        }
        let isOver = life.withLock { life in
            life.keepaliveTimer = timer
            return life.end != nil
        }
        if isOver { loop.cancelTimer(timer) }
    }

    private func checkSilence(_ interval: Duration, seen: UInt64, silences: Int) {
        let received = channel.framesReceived
        guard received == seen else { return scheduleSilenceCheck(interval, seen: received, silences: 0) }
        guard silences + 1 < Self.maximumSilences else { return endSilentConnection(interval * Self.maximumSilences) }
        state.withLock { state in
            guard state.ending.verdict == nil, !state.outbox.isClosed else { return }
            state.pings.send(.ping, PingWait(), to: &state.outbox)
        }
        channel.setNeedsFlush()
        scheduleSilenceCheck(interval, seen: received, silences: silences + 1)
    }

    private func endSilentConnection(_ time: Duration) {
        let silence = ConnectionError(.deadlineExceeded, "the peer has sent nothing for \(time)", context: name)
        life.withLock { life in
            if life.decision == nil { life.decision = .failed(silence) }
        }
        channel.cancel(.byThisSide)
    }
}
