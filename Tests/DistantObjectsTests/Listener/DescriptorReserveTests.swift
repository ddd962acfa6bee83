import DistantObjects
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc

    /// A process that has no descriptor left is ended by Dispatch, so peers cannot use up the last ones.
    @Suite("Descriptors that peers cannot use up", .bounded())
    struct DescriptorReserveTests {
        @Test("However many clients connect, the process keeps descriptors for itself, and recovers when they leave")
        func clients() async {
            await #expect(processExitsWith: .success) {
                let place = try TemporaryFolder()
                let paused = Signal()
                var configuration = Connection.Configuration.patient
                configuration.onEvent = { if $0.code == .acceptPaused { paused.send() } }
                let listener = try Listener(at: .path(place.socket), configuration: configuration)
                let serving = Task {
                    for await connection in listener { connection.vend(Directory()) }
                }
                let first = Usage.firstUnused(from: 128)
                // The numbers of the clients' own sockets are above the limit that follows.
                let sockets = (0..<200).map { _ in
                    let low = socket(AF_UNIX, streamSocket, 0)
                    defer { close(low) }
                    return fcntl(low, F_DUPFD_CLOEXEC, first + 128)
                }
                #expect(sockets.allSatisfy { $0 >= first + 128 })
                let late = sockets.suffix(2)
                Usage.useDescriptors(below: first, of: first + 128)
                for descriptor in sockets.dropLast(2) { #expect(systemConnect(descriptor, to: place.socket)) }
                await paused.wait()
                // One is taken for a moment to refuse a client.
                await eventually("the last ones are free") { Usage.free >= 16 }
                let refused = RawPeer(descriptor: late[late.startIndex])
                #expect(refused.connect(to: place.socket))
                #expect(try await onThread { refused.read()?.kind } == 16)
                refused.close()
                for descriptor in sockets.dropLast(2) { close(descriptor) }
                await eventually("the clients are gone") { Usage.free >= 100 }
                let peer = RawPeer(descriptor: late[late.startIndex + 1])
                #expect(peer.connect(to: place.socket))
                peer.send(1, RawPeer.hello)
                #expect(try await onThread { peer.read()?.kind } == 1)
                peer.close()
                listener.close()
                await serving.value
            }
        }

        @Test(
            "If other code has opened the last ones, the newest connection of the largest peer ends for one that waits")
        func noneInDescriptorReserve() async {
            await #expect(processExitsWith: .success) {
                let place = try TemporaryFolder()
                let listener = try Listener(at: .path(place.socket), configuration: .patient)
                let serving = Task {
                    for await connection in listener { connection.vend(Directory()) }
                }
                let late = RawPeer(descriptor: socket(AF_UNIX, streamSocket, 0))
                var peers: [RawPeer] = []
                for _ in 0..<3 {
                    // One after the other: on a busy machine the loop may make connections that wait in any order.
                    let peer = try RawPeer(connectingTo: place.socket)
                    peer.send(1, RawPeer.hello)
                    #expect(try await onThread { peer.read()?.kind } == 1)
                    peers.append(peer)
                }
                // Those of the connections are below it, so that one that ends makes room.
                let limit = Usage.firstUnused(from: 0)
                Usage.useDescriptors(below: limit, of: limit)
                #expect(late.connect(to: place.socket))
                let newest = peers.removeLast()
                #expect(try await onThread { newest.read()?.kind } == 16)
                // It is of the same process, which has most itself.
                #expect(try await onThread { late.read()?.kind } == 16)
                for peer in peers {
                    peer.send(11, [7])
                    #expect(try await onThread { peer.read()?.kind } == 12)
                }
                Usage.allowDescriptors()
                for peer in peers + [newest, late] { peer.close() }
                listener.close()
                await serving.value
            }
        }

        @Test("A connection stays on its socket, and bytes are sent as data, if only the last descriptors are free")
        func memoryInDescriptorReserve() async {
            await #expect(processExitsWith: .success) {
                let (sharing, sharingServer, root) = try await BlobUseTests.pair()
                try await sharing.ping()
                try await sharingServer.ping()
                #expect(sharing.isInSharedMemory)
                let (client, server) = try await Connection.pair(
                    over: .socketpair, first: SharingTests.always, second: .patient)
                server.vend(Directory())
                let first = Usage.firstUnused(from: 128)
                Usage.useDescriptors(below: first, of: first + 14)
                let echo = try await client.root
                try await SharingTests.echo(0..<50, echo)
                #expect(!client.isInSharedMemory)
                #expect(Usage.free == 14)
                let look: BlobServer.Look = try await root.look(try sharing.filled(BlobUseTests.size, 1))
                #expect(look == BlobServer.Look(sum: BlobUseTests.size, isShared: false))
                #expect(Usage.free == 14)
                await SharingTests.close(client, server)
                await SharingTests.close(sharing, sharingServer)
            }
        }
    }
#endif
