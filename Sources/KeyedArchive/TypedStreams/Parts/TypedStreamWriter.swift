/// Writes a typedstream part by part; what is written has to follow the rules of the format.
///
/// Numbers take their smallest form, and strings that were written before are referred to, unless `forms` or `noted` says
/// otherwise.
package struct TypedStreamWriter {
    private var out = ByteSink()
    private let isBigEndian: Bool
    private var strings = TypedStreamStrings()
    /// Numbers and shared strings that are stored in another than the usual form.
    private var forms: TypedStreamForms
    private var numberCount = 0
    private var stringCount = 0
    private var formIndex = 0
    private var stringFormIndex = 0
    /// What is wrong with a form: it stands for another value than the one that was written.
    package private(set) var formProblem: String?
    /// The next numbers as they are to be stored; nil for the bits of a floating-point number.
    var noted: [TypedStreamNumber?] = []
    private var notedIndex = 0

    package init(isBigEndian: Bool, forms: TypedStreamForms = TypedStreamForms()) {
        self.isBigEndian = isBigEndian
        self.forms = forms
        out.append(bytes: TypedStreamHeader.bytes(isBigEndian: isBigEndian))
    }

    /// Whether forms are left for numbers or strings that were not written.
    package var hasUnusedForms: Bool {
        formIndex < forms.numbers.count || stringFormIndex < forms.strings.count
    }

    package func deallocate() {
        out.deallocate()
        strings.deallocate()
    }

    /// The bytes since they were passed on.
    package var bytes: UnsafeRawBufferPointer { out.bytes }

    /// Passes the bytes on and forgets them.
    mutating func pass(to receiver: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try receiver(out.bytes)
        out.count = 0
    }

    // MARK: Tags

    package mutating func null() { out.byte(TypedStreamTag.null) }

    /// Begins an object, class or C string that follows in full.
    package mutating func new() { out.byte(TypedStreamTag.new) }

    package mutating func endObject() { out.byte(TypedStreamTag.end) }

    package mutating func reference(_ label: Int) { number(Int64(label) + TypedStreamTag.leastHead) }

    // MARK: Numbers

    /// A byte of `c`, `C` or `B`.
    package mutating func byte(_ byte: UInt8) { out.byte(byte) }

    package mutating func number(_ value: Int64) { number(TypedStreamNumber(value)) }

    /// A value of the integer type `encoding`, of which the low bits are written.
    package mutating func integer(_ value: Int64, _ encoding: UInt8) {
        number(TypedStreamNumber(value).usual(encoding), encoding)
    }

    /// - Parameter encoding: The type, of which the low bits of a form count.
    mutating func number(_ usual: TypedStreamNumber, _ encoding: UInt8 = UInt8(ascii: "q")) {
        // Nothing but a number takes the place of one here.
        if let noted = nextNoted() { return store(noted ?? usual) }
        let form = nextForm { $0.map { $0.fits && $0.usual(encoding).value == usual.value } ?? false }
        store(form.flatMap(\.self) ?? usual)
    }

    package mutating func float(bits: UInt32) {
        let value = Float(bitPattern: bits)
        guard let number = stored(Double(value), { Float($0).bitPattern == bits }) else {
            out.byte(TypedStreamTag.bits)
            return fixed(bits)
        }
        store(number)
    }

    package mutating func double(bits: UInt64) {
        guard let number = stored(Double(bitPattern: bits), { Double($0).bitPattern == bits }) else {
            out.byte(TypedStreamTag.bits)
            return fixed(bits)
        }
        store(number)
    }

    /// The number to store in place of a floating-point value; nil to store its bits.
    private mutating func stored(_ value: Double, _ isValue: (Int64) -> Bool) -> TypedStreamNumber? {
        nextNoted() ?? nextForm { $0.map { $0.fits && isValue($0.value) } ?? true } ?? TypedStreamNumber(whole: value)
    }

    /// How the next number is to be stored, if that was noted.
    private mutating func nextNoted() -> TypedStreamNumber?? {
        guard notedIndex < noted.count else { return nil }
        let number = noted[notedIndex]
        notedIndex += 1
        if notedIndex == noted.count {
            noted.removeAll(keepingCapacity: true)
            notedIndex = 0
        }
        return .some(number)
    }

    /// How the next number is to be stored, if not as usual.
    ///
    /// - Parameter isValue: Whether what is stored stands for the value.
    private mutating func nextForm(_ isValue: (TypedStreamNumber?) -> Bool) -> TypedStreamNumber?? {
        let position = numberCount
        numberCount += 1
        guard formIndex < forms.numbers.count, forms.numbers[formIndex].position == position else { return nil }
        formIndex += 1
        let stored = forms.numbers[formIndex - 1].stored
        if !isValue(stored), formProblem == nil {
            formProblem = "the form of number \(position) is not one of the value here"
        }
        return .some(stored)
    }

    private mutating func store(_ number: TypedStreamNumber) {
        switch number.form {
        case .head: out.byte(UInt8(bitPattern: Int8(truncatingIfNeeded: number.value)))
        case .short:
            out.byte(TypedStreamTag.short)
            fixed(UInt16(truncatingIfNeeded: number.value))
        case .word:
            out.byte(TypedStreamTag.word)
            fixed(UInt32(truncatingIfNeeded: number.value))
        case .long:
            out.byte(TypedStreamTag.long)
            fixed(UInt64(bitPattern: number.value))
        }
    }

    private mutating func fixed<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
        out.fixed(isBigEndian ? value.byteSwapped : value)
    }

    // MARK: Strings

    /// A string without a number: its length and bytes.
    package mutating func text(_ bytes: UnsafeRawBufferPointer) {
        number(Int64(bytes.count))
        out.append(bytes)
    }

    /// A string with a number; a reference if it was written before.
    package mutating func sharedString(_ bytes: UnsafeRawBufferPointer) {
        let position = stringCount
        stringCount += 1
        var number = strings.number(of: bytes)
        if stringFormIndex < forms.strings.count, forms.strings[stringFormIndex].position == position {
            let stored = forms.strings[stringFormIndex].number
            number = stored
            stringFormIndex += 1
            if stored != strings.count, !strings.isString(stored, bytes), formProblem == nil {
                formProblem = "the number \(stored) of string \(position) is not that of the string here"
            }
        }
        guard let number, number < strings.count else {
            strings.append(bytes)
            out.byte(TypedStreamTag.new)
            return text(bytes)
        }
        reference(number)
    }

    /// A string that is new or has a number, as the writer is told; it must not be mixed with the other function.
    mutating func sharedString(_ bytes: UnsafeRawBufferPointer, number: Int, isNew: Bool) {
        guard isNew else { return reference(number) }
        out.byte(TypedStreamTag.new)
        text(bytes)
    }

    /// The elements of an array of bytes.
    package mutating func raw(_ bytes: UnsafeRawBufferPointer) { out.append(bytes) }
}

extension ByteSink {
    fileprivate mutating func append(bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }
}
