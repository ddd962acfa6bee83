/// What a typedstream stores in another form than archivers usually do, which readers accept as well.
///
/// With these a stream that is made from its values has the same bytes again. Numbers and shared strings are counted in the
/// order of the file, from 0: the version of the system is number 0.
package struct TypedStreamForms: Equatable {
    /// A number in another form.
    package struct Number: Equatable {
        package let position: Int
        /// Nil for the bits of a floating-point number that is usually stored as an integer.
        package let stored: TypedStreamNumber?

        package init(position: Int, stored: TypedStreamNumber?) {
            self.position = position
            self.stored = stored
        }
    }

    /// A string that is new although it was there before, or has not the number of its first place.
    package struct SharedString: Equatable {
        package let position: Int
        /// Its number; the number of strings so far for a new one.
        package let number: Int

        package init(position: Int, number: Int) {
            self.position = position
            self.number = number
        }
    }

    package var numbers: [Number] = []
    package var strings: [SharedString] = []

    package init() {}
}

/// The shared strings of a stream by their content, in a table of four bytes for each place.
struct TypedStreamStrings {
    private var content = ByteSink(capacity: 0)
    /// Where the strings end in `content`.
    private var ends: [Int] = []
    /// Numbers of strings plus one, by hash; 0 for a free place.
    ///
    /// At most half of them are in use.
    private var places: [UInt32] = Array(repeating: 0, count: 64)

    var count: Int { ends.count }

    func deallocate() { content.deallocate() }

    private func bytes(_ number: Int) -> UnsafeRawBufferPointer {
        let start = number == 0 ? 0 : ends[number - 1]
        return UnsafeRawBufferPointer(rebasing: content.bytes[start..<ends[number]])
    }

    /// Whether there is a string with a number, and with this content.
    func isString(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        ends.indices.contains(number) && self.bytes(number).elementsEqual(bytes)
    }

    private func firstPlace(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return hasher.finalize() & (places.count - 1)
    }

    /// The number of the first string with this content; nil if there is none.
    func number(of bytes: UnsafeRawBufferPointer) -> Int? {
        let place = place(of: bytes)
        return places[place] == 0 ? nil : Int(places[place]) - 1
    }

    private func place(of bytes: UnsafeRawBufferPointer) -> Int {
        var place = firstPlace(bytes)
        while places[place] != 0, !self.bytes(Int(places[place]) - 1).elementsEqual(bytes) {
            place = (place + 1) & (places.count - 1)
        }
        return place
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        let place = place(of: bytes)
        content.append(bytes)
        ends.append(content.count)
        // The first string of a content keeps its place.
        if places[place] == 0 { places[place] = UInt32(ends.count) }
        if ends.count * 2 > places.count { grow() }
    }

    private mutating func grow() {
        let numbers = places.filter { $0 != 0 }
        places = Array(repeating: 0, count: places.count * 2)
        for number in numbers { places[place(of: bytes(Int(number) - 1))] = number }
    }
}
