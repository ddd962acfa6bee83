import CPortShims
import DistantObjects
import PortTransport
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    // The rules of `Frames.md` about the memory and its doorbells.
    extension Check {
        static let sharing = [
            Check(
                "a counter that is wrong between two reads",
                "What was wrong in between, and is right when it is looked at, breaks nothing.", of: .frames
            ) {
                let taker = try await SharingAbuseTests.Taker()
                taker.raw.send(17, flags: 2, [])
                try await taker.awaitMove()
                // The number of bytes read, which is checked only when there is no room.
                let place = 128 + 64
                taker.memory.storeBytes(of: 1 << 40, toByteOffset: place, as: UInt64.self)
                _ = try await SharingAbuseTests.root(of: taker)
                taker.memory.storeBytes(of: 0, toByteOffset: place, as: UInt64.self)
                #expect(!taker.connection.isEnded)
                taker.raw.close()
                _ = await taker.connection.ended
                taker.close()
            },
            Check(
                "what a peer says to have read, when there is no room",
                "a writer at `taken` only when the room it knows of is not enough for what it has to write.",
                of: .frames
            ) { try await SharingAbuseTests().nonsenseRoom() },
            Check("what a peer says to have written", "a reader looks at `written` at each read", of: .frames) {
                try await SharingAbuseTests().nonsenseInSharingAbuse()
            },
            Check("what a peer says of its processor", "Any value is allowed.", of: .frames) {
                try await SharingAbuseTests().processorInSharingAbuse()
            },
            Check("the end of a doorbell that is sent", "Its reading end is what its maker sends", of: .frames) {
                let taker = try await SharingAbuseTests.Taker()
                for doorbell in taker.descriptors[1...] { #expect(fcntl(doorbell, F_GETFL) & O_ACCMODE == O_RDONLY) }
                taker.raw.close()
                _ = await taker.connection.ended
                taker.close()
            },
            Check(
                "the other end of a doorbell", "the taker takes either end, since it opens the pipe anew.", of: .frames
            ) {
                let (raw, ours) = try RawPeerConnection.ends(.socketpair)
                raw.send(1, RawPeer.greeting(features: 2))
                let connection = try await RawPeerConnection.adopt(ours, isInitiator: true, SharingTests.always)
                _ = try await onThread { raw.read() }
                raw.send(11, [1])
                let kinds = try await onThread { [raw.read()?.kind, raw.read()?.kind] }
                #expect(kinds.contains(17) && kinds.contains(12))
                let memory = port_memory_make(SharingAbuseTests.Taker.size)
                var first: [CInt] = [-1, -1]
                var second: [CInt] = [-1, -1]
                #expect(port_pipe(&first) == 0 && port_pipe(&second) == 0)
                defer { for descriptor in first + second + [memory] { port_close(descriptor) } }
                var frame = RawPeer.frame(17, flags: 1, descriptors: 3, [])
                let sent = frame.withUnsafeMutableBytes { bytes in
                    var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return port_send(raw.descriptor, &vector, 1, [memory, first[1], second[1]], 3, false)
                }
                #expect(sent == 8)
                // It switches to the memory.
                let next = try await onThread { raw.read() }
                #expect(next?.kind == 17 && next?.flags == 2)
                raw.close()
                _ = await connection.ended
            },
        ]
    }
#else
    extension Check {
        static let sharing: [Check] = []
    }
#endif
