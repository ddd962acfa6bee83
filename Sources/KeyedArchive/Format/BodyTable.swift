/// Where the bodies of an archive's objects begin.
///
/// An archive stores only their lengths. `init` adds them up once, to check them, and keeps every sixteenth sum; the
/// sums between are computed again on demand:
///
///     lengths    0B 0C 0C 0D ... 0B | 0C 0C 0B ...
///     places     ^ of object 0        ^ of object 16: where its length and its body begin
///
/// That takes a byte per object. A table of all bodies would take eight, as much as a small body.
struct BodyTable {
    /// The offsets of an object's length and body from the start of the archive.
    private struct Place {
        var length = 0
        var body = 0
    }

    /// The place of every (1 << shift)th object is kept.
    private static let shift = 4

    /// The number of objects.
    private(set) var count = 0
    private let base: UnsafeRawPointer
    private let end: Int
    private var first = Place()
    /// The places of the objects 16, 32 and so on.
    private var others: UnsafeMutablePointer<Place>?
    /// The next object, if objects are requested in order.
    private var next = 0
    private var nextPlace = Place()
    /// Whether another table frees the places.
    private var isBorrowed = false

    /// A table of no objects.
    init() {
        let nothing = ByteSource(UnsafeRawBufferPointer(start: nil, count: 0))
        base = nothing.base
        end = 0
    }

    /// Reads the header of an archive's body, and checks that the lengths add up to the bytes present.
    ///
    /// - Parameter source: The body of an archive; afterwards only the part with its values.
    /// - Throws: `ArchiveError`; then there is nothing to deallocate.
    init(_ source: inout ByteSource, limits: ArchiveLimits) throws {
        base = source.base
        end = source.end
        // An object takes a byte for its length and two for its shape.
        count = try source.count(eachAtLeast: 3, limit: limits.objects, "objects")
        let values = try source.varint()
        first.length = source.position
        do {
            let sum = try addUp(&source)
            guard values <= UInt64(source.remaining) else { throw ByteSource.truncated() }
            first.body = source.position + Int(values)
            guard sum == end - first.body else {
                throw sum > end - first.body
                    ? ByteSource.truncated() : ArchiveError(.corrupt, "bytes after the archive")
            }
        } catch {
            others?.deallocate()
            throw error
        }
        source = ByteSource(base: base, position: source.position, end: first.body)
        nextPlace = first
    }

    func deallocate() {
        if !isBorrowed { others?.deallocate() }
    }

    /// A copy that must not outlive this table; nothing is deallocated with it.
    var borrowed: BodyTable {
        var copy = self
        copy.isBorrowed = true
        return copy
    }

    /// The whole body of the archive, from its header on.
    var archive: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: end) }

    /// Reads the lengths and keeps some of the sums; returns the last.
    private mutating func addUp(_ source: inout ByteSource) throws -> Int {
        if count > 1 << Self.shift { others = .allocate(capacity: (count - 1) >> Self.shift) }
        var sum = 0
        var number = 0
        while number < count {
            if number > 0, let others {
                (others + (number >> Self.shift - 1)).initialize(to: Place(length: source.position, body: sum))
            }
            let stop = min(number &+ 1 << Self.shift, count)
            while number < stop {
                let length = try source.length()
                guard length >= 2 else { throw ArchiveError(.corrupt, "an object without a shape") }
                sum &+= length
                guard sum <= end else { throw ByteSource.truncated() }
                number &+= 1
            }
        }
        return sum
    }

    /// The body of an object; fastest in order.
    @inline(__always)
    mutating func body(_ number: Int) -> ByteSource {
        if number != next { nextPlace = place(number) }
        next = number &+ 1
        return step(&nextPlace)
    }

    /// The body of an object, without changing the table, for use by several threads.
    func fixedBody(_ number: Int) -> ByteSource {
        var place = place(number)
        return step(&place)
    }

    @inline(never)
    private func place(_ number: Int) -> Place {
        precondition(number >= 0 && number < count, "an object that is not in the table")
        var place = first
        if let others, number >> Self.shift > 0 {
            place = others[number >> Self.shift - 1]
            // Where the bodies begin is known only after all lengths.
            place.body += first.body
        }
        for _ in 0..<(number & (1 << Self.shift - 1)) { _ = step(&place) }
        return place
    }

    /// The body at a place; moves the place to the next object.
    @inline(__always)
    private func step(_ place: inout Place) -> ByteSource {
        var lengths = ByteSource(base: base, position: place.length, end: end)
        let start = place.body
        // The length was checked before. If the bytes have changed since, the body must still stay within the archive.
        let length = Int(truncatingIfNeeded: (try? lengths.varint()) ?? 0)
        let stop = length >= 0 && length <= end &- start ? start &+ length : start
        place = Place(length: lengths.position, body: stop)
        return ByteSource(base: base, position: start, end: stop)
    }
}
