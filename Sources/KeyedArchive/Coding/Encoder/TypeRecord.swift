/// What an encoder remembers about one type: its name, and the shapes its values have had so far.
///
/// The shape seen last
/// is predicted for the next value.
final class TypeRecord {
    /// A shape with its number in the archive being written.
    struct Variant {
        let shape: Shape
        let keys: UnsafePointer<String>
        let keyCount: Int
        var epoch: UInt32
        var local: UInt16
    }

    let name: String
    let version: Int
    let kind: Shape.Kind
    private(set) var variants: [UnsafeMutablePointer<Variant>] = []
    var predicted: UnsafeMutablePointer<Variant>?

    /// Types with more key sequences than this are written with their keys inline.
    private static let mostVariants = 32

    init(name: String, version: Int, kind: Shape.Kind) {
        self.name = name
        self.version = version
        self.kind = kind
    }

    deinit {
        for variant in variants {
            variant.deinitialize(count: 1)
            variant.deallocate()
        }
    }

    /// The variant with these keys in this order, and whether values should rather carry their keys from now on.
    func settle(_ keys: [String], limit: Int) throws -> UnsafeMutablePointer<Variant> {
        for variant in variants where variant.pointee.shape.layout == .keyed {
            if variant.pointee.keyCount == keys.count && variant.pointee.shape.keyNames == keys {
                predicted = variant
                return variant
            }
        }
        guard Set(keys).count == keys.count else {
            var seen: Set<String> = []
            let twice = keys.first { !seen.insert($0).inserted } ?? ""
            throw ArchiveError(.duplicateKey, "the key \(twice) was encoded twice")
        }
        let variant = add(.keyed, keys)
        predicted = variants.count > Self.mostVariants || keys.count > limit / 2 ? bare(.explicit) : variant
        return variant
    }

    /// The variant without keys of its own.
    func bare(_ layout: Shape.Layout) -> UnsafeMutablePointer<Variant> {
        variants.first { $0.pointee.shape.layout == layout } ?? add(layout, [])
    }

    private func add(_ layout: Shape.Layout, _ keys: [String]) -> UnsafeMutablePointer<Variant> {
        let shape = Shape(name: name, version: version, kind: kind, layout: layout, keys: keys)
        let variant = UnsafeMutablePointer<Variant>.allocate(capacity: 1)
        variant.initialize(
            to: Variant(shape: shape, keys: shape.keys, keyCount: shape.keyCount, epoch: 0, local: 0))
        variants.append(variant)
        return variant
    }
}
