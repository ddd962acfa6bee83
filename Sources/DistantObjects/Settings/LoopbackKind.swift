/// The use of a connection whose two ends are in this process and were opened by the library.
///
/// Such a connection closes once it has no references, calls and streams.
package enum LoopbackKind: Sendable {
    /// It stands in for another process: what comes by reference is a proxy, also for an object of this process.
    case standIn
    /// It carries messages from this process to its own objects: what comes by reference is the object itself.
    case home
}
