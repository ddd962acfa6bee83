/// A number of a typedstream as it is stored: a signed integer in one, two, four or eight bytes.
///
/// Values of all integer types are stored so, also unsigned ones, whose bits are taken for a signed number. Most
/// archivers take the smallest form, but readers accept each.
package struct TypedStreamNumber: Equatable, BitwiseCopyable {
    /// How many bytes the number takes, beside its tag.
    package enum Form: UInt8, BitwiseCopyable {
        case head = 1
        case short = 2
        case word = 4
        case long = 8
    }

    package let value: Int64
    package let form: Form

    package init(_ value: Int64, _ form: Form) {
        self.value = value
        self.form = form
    }

    /// The number in its smallest form.
    package init(_ value: Int64) {
        self.value = value
        if value >= TypedStreamTag.leastHead && value <= Int64(Int8.max) {
            form = .head
        } else if Int16(exactly: value) != nil {
            form = .short
        } else {
            form = Int32(exactly: value) != nil ? .word : .long
        }
    }

    /// Whether the form has room for the value.
    var fits: Bool {
        switch form {
        case .head: (TypedStreamTag.leastHead...Int64(Int8.max)).contains(value)
        case .short: Int16(exactly: value) != nil
        case .word: Int32(exactly: value) != nil
        case .long: true
        }
    }

    /// The number that an archiver writes for the value of this one, which has the integer type `encoding`.
    func usual(_ encoding: UInt8) -> TypedStreamNumber {
        switch encoding {
        case UInt8(ascii: "s"), UInt8(ascii: "S"): TypedStreamNumber(Int64(Int16(truncatingIfNeeded: value)))
        case UInt8(ascii: "q"), UInt8(ascii: "Q"): TypedStreamNumber(value)
        default: TypedStreamNumber(Int64(Int32(truncatingIfNeeded: value)))
        }
    }

    /// The number that an archiver writes for a floating-point value; nil if it writes the value's bits.
    ///
    /// Whole numbers of 32 bits are written as integers, but for the negative zero, which would lose its sign.
    package init?(whole value: Double) {
        guard let whole = Int32(exactly: value), whole != 0 || value.sign == .plus else { return nil }
        self.init(Int64(whole))
    }
}

/// The bytes of a typedstream that take the place of a number.
enum TypedStreamTag {
    static let short: UInt8 = 0x81
    static let word: UInt8 = 0x82
    /// The bits of a floating-point number.
    static let bits: UInt8 = 0x83
    /// An object, class or string that follows in full.
    static let new: UInt8 = 0x84
    static let null: UInt8 = 0x85
    /// The end of an object.
    static let end: UInt8 = 0x86
    static let long: UInt8 = 0x87
    /// The bytes that are not numbers by themselves.
    static let all: ClosedRange<UInt8> = 0x80...0x91
    /// The least number of one byte, which is also the reference to what has the number 0.
    static let leastHead: Int64 = -110
}
