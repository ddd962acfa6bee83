/// What an encoder remembers about one type: its name, and the shapes its values have had so far.
///
/// It predicts the last shape for the next value.
final class TypeRecord {
    /// A shape with its number in the archive being written.
    ///
    /// The content is behind a pointer that the record frees: access needs no reference counting.
    struct Variant {
        private struct Content {
            let shape: Shape
            let keys: UnsafePointer<String>
            let keyCount: Int
            var epoch: UInt32 = 0
            var local: UInt16 = 0
        }

        private let content: UnsafeMutablePointer<Content>

        fileprivate init(_ shape: Shape) {
            content = .allocate(capacity: 1)
            content.initialize(to: Content(shape: shape, keys: shape.keys, keyCount: shape.keyCount))
        }

        fileprivate func deallocate() {
            content.deinitialize(count: 1)
            content.deallocate()
        }

        @inline(__always)
        var shape: Shape { content.pointee.shape }
        @inline(__always)
        var keys: UnsafePointer<String> { content.pointee.keys }
        @inline(__always)
        var keyCount: Int { content.pointee.keyCount }
        /// The archive in which the shape has the number `local`.
        @inline(__always)
        var epoch: UInt32 { content.pointee.epoch }
        @inline(__always)
        var local: UInt16 { content.pointee.local }

        func number(_ local: UInt16, in epoch: UInt32) {
            content.pointee.local = local
            content.pointee.epoch = epoch
        }
    }

    let name: String
    let version: Int
    let kind: Shape.Kind
    private(set) var variants: [Variant] = []
    var predicted: Variant?

    /// Types with more key sequences than this are written with their keys inline.
    private static let mostVariants = 32

    init(name: String, version: Int, kind: Shape.Kind) {
        self.name = name
        self.version = version
        self.kind = kind
    }

    deinit {
        for variant in variants { variant.deallocate() }
    }

    /// The variant with these keys in this order, which is predicted from now on; nil if there is none.
    func known(_ keys: [String]) -> Variant? {
        for variant in variants where variant.shape.layout == .keyed {
            if variant.keyCount == keys.count && variant.shape.keyNames == keys {
                predicted = variant
                return variant
            }
        }
        return nil
    }

    /// The variant with these keys in this order; predicts inline keys from now on if there are too many variants.
    ///
    /// - Parameter keys: The keys, each only once.
    func settle(_ keys: [String], limit: Int) -> Variant {
        if let known = known(keys) { return known }
        let variant = add(.keyed, keys)
        if variants.count > Self.mostVariants || keys.count > limit / 2 {
            _ = settleInline()
        } else {
            predicted = variant
        }
        return variant
    }

    /// The variant for values with their keys inline, which is predicted from now on.
    func settleInline() -> Variant {
        let variant = bare(.explicit)
        predicted = variant
        return variant
    }

    /// The variant for a layout whose shape has no keys.
    func bare(_ layout: Shape.Layout) -> Variant {
        variants.first { $0.shape.layout == layout } ?? add(layout, [])
    }

    private func add(_ layout: Shape.Layout, _ keys: [String]) -> Variant {
        let shape = Shape(name: name, version: version, kind: kind, layout: layout, keys: keys)
        let variant = Variant(shape)
        variants.append(variant)
        return variant
    }
}
