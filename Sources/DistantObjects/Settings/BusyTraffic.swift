/// The traffic at which a connection switches to shared memory: this many frames, of both directions, within this many
/// nanoseconds.
package struct BusyTraffic: Sendable, Equatable {
    package var frames: UInt64 = 512
    package var nanoseconds: UInt64 = 50_000_000

    package init() {}

    /// The first frame is enough.
    static var atOnce: BusyTraffic {
        var traffic = BusyTraffic()
        traffic.frames = 1
        traffic.nanoseconds = .max
        return traffic
    }
}
