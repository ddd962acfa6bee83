/// The id of an exported object on one connection: a slot in its owner's table, and the slot's generation.
///
/// A slot is reused after its object was released, with the next generation, so that a message for an earlier object never
/// reaches a later one.
package struct ObjectID: Hashable, Sendable {
    package var slot: UInt32
    package var generation: UInt32

    /// The root directory of each side, which is known from the start and never released.
    package static let rootDirectory = ObjectID(slot: 0, generation: 0)
    /// The place of an id where there is none.
    static let none = ObjectID(slot: .max, generation: .max)
}
