import CFloor
import DistantObjects

/// The launched processes of one placement: a floor and a peer for each transport; they inherit the placement.
struct Peers {
    var floors: [Transport: Floor] = [:]
    var ours: [Transport: Peer] = [:]

    init(_ bench: Bench, _ cores: Cores) async throws {
        for transport in [Transport.socket, .pipe] {
            floors[transport] = try Floor(
                transport == .socket ? FloorSocket : FloorPipe, cores, executable: bench.executable)
            if !bench.options.isFloorOnly {
                ours[transport] = try await Peer.launch(bench.executable, over: transport)
            }
        }
    }

    func close() async {
        for peer in ours.values { await peer.connection.close() }
    }
}
