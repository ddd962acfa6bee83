/// The name of an exported object on one connection: a slot of its owner's table and the slot's generation.
///
/// A slot is used again after its object was released, each time under the next generation, so that a message meant for
/// an earlier object can never reach a later one.
package struct ObjectID: Hashable, Sendable {
    package var slot: UInt32
    package var generation: UInt32

    /// The root directory of each party, exported from the first moment and never released.
    package static let rootDirectory = ObjectID(slot: 0, generation: 0)
}
