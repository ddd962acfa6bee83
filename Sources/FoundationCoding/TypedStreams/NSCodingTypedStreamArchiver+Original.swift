import Foundation
import KeyedArchive

/// An object being encoded, or the values that belong to none.
struct EncodingPlace {
    /// The number of values so far.
    var count = 0
    /// The values in the archive that is written again.
    var original: TypedStreamGroups?
    /// The labels of the numbers there in the order of their occurrence, once they are needed.
    var numbers: [Int]?
    /// The number of numbers so far.
    var numberCount = 0
    /// Where the element being encoded stands in the archive; nil for an object that encodes itself.
    var source: Source?

    /// Where an element of a collection stands in the archive that is written again.
    enum Source {
        /// It is new, or nothing tells.
        case new
        case original(TypedStreamValue)
    }
}

/// What an archiver takes from the archive that an unarchiver opened.
extension NSCodingTypedStreamArchiver {
    /// Copies the values of an object of Foundation from the archive it comes from; false if it changed or comes from none.
    func copyOriginal(of object: NSObject, _ label: Int?) throws -> Bool {
        guard let origin, let label, case .object(let original) = origin.graph.labels[label],
            isUnchanged(object, original, origin)
        else { return false }
        var cursor = TypedStreamCursor(original)
        while let type = cursor.restOfGroup() {
            group(type.description)
            while let value = cursor.next() {
                try copy(value, cursor.lastEncoding, origin)
                endValue()
            }
        }
        return true
    }

    /// Whether the values in the archive are those of the object, and all objects in them were made.
    private func isUnchanged(
        _ object: NSObject, _ original: TypedStreamObject, _ origin: NSCodingTypedStreamUnarchiver
    ) -> Bool {
        switch object {
        case let string as NSMutableString:
            // Bytes that are not UTF-8 were replaced in what the program sees.
            guard
                case .text(let text)? = original.groups.first(where: { _ in true })?.values.first(where: { _ in true })
            else { return false }
            return string.isEqual(to: text.description)
        case is NSMutableData, is NSMutableArray, is NSMutableSet, is NSMutableDictionary: return false
        case let string as NSMutableAttributedString:
            guard isUnchanged(string, original, origin) else { return false }
        default: break
        }
        for group in original.groups where group.type.description.utf8.contains(UInt8(ascii: "@")) {
            for case .label(let label) in group.values {
                if case .object = origin.graph.labels[label], origin.object(label) == nil { return false }
            }
        }
        return true
    }

    /// Whether an attributed string has the text and the attributes of the archive.
    private func isUnchanged(
        _ string: NSMutableAttributedString, _ original: TypedStreamObject, _ origin: NSCodingTypedStreamUnarchiver
    ) -> Bool {
        let values = original.groups.flatMap { Array($0.values) }
        guard case .label(let label)? = values.first, let text = origin.object(label) as? NSString,
            text.isEqual(to: string.string)
        else { return false }
        var known: [NSDictionary] = []
        var location = 0
        var position = 1
        while position + 1 < values.count {
            guard case .integer(let number) = values[position], case .integer(let length) = values[position + 1] else {
                return false
            }
            position += 2
            if number > known.count {
                guard position < values.count, case .label(let label) = values[position],
                    let attributes = origin.object(label) as? NSDictionary
                else { return false }
                known.append(attributes)
                position += 1
            }
            let end = location + Int(length)
            while location < end {
                guard location < string.length else { return false }
                var range = NSRange()
                let attributes = string.attributes(at: location, effectiveRange: &range)
                let found = NSMutableDictionary()
                for (key, value) in attributes { found[key.rawValue as NSString] = value as AnyObject }
                guard known[Int(number) - 1].isEqual(found) else { return false }
                location = min(end, NSMaxRange(range))
            }
        }
        return location == string.length
    }

    private func copy(
        _ value: TypedStreamValue, _ code: UInt8, _ origin: NSCodingTypedStreamUnarchiver
    ) throws {
        switch value {
        case .null: if pass == .writing { writer.null() }
        case .nothing, .array, .endArray, .emptyArray, .structure, .endStructure: break
        case .label(let label):
            switch origin.graph.labels[label] {
            case .object: try write(origin.object(label))
            case .type: if let members = try? origin.ancestry(label).members { try write(members) }
            case .cString(let text): write(cString: text.withBytes { Array($0) })
            }
        case .text(let text):
            if pass == .writing { text.withBytes { writer.text($0) } }
        case .atom(let text), .selector(let text): write(name: text?.withBytes { Array($0) })
        case .bytes(let bytes, _):
            if pass == .writing { bytes.withBytes { writer.raw($0) } }
        case .bool(let value): byte(value ? 1 : 0)
        case .float(let bits): float(bits)
        case .double(let bits): double(bits)
        case .integer(let value): integer(value, code)
        case .unsigned(let value): integer(Int64(bitPattern: value), code)
        }
    }

    /// The label that a number has in the object that is written again.
    ///
    /// Small numbers of Foundation are one object each, of whatever kind they were read. So a number is the one of the archive
    /// if it is the same object in the same place.
    func nextOriginal(of object: NSObject) -> Int? {
        guard let origin, object is NSNumber, let original = places[places.count - 1].original else { return nil }
        if let source = places[places.count - 1].source {
            guard case .original(.label(let label)) = source, origin.object(label) === object else { return nil }
            return label
        }
        if places[places.count - 1].numbers == nil {
            var numbers: [Int] = []
            for group in original where group.type.description.utf8.contains(UInt8(ascii: "@")) {
                for case .label(let label) in group.values where origin.object(label) is NSNumber {
                    numbers.append(label)
                }
            }
            places[places.count - 1].numbers = numbers
        }
        guard let numbers = places[places.count - 1].numbers else { return nil }
        let position = places[places.count - 1].numberCount
        places[places.count - 1].numberCount += 1
        guard numbers.indices.contains(position), origin.object(numbers[position]) === object else { return nil }
        return numbers[position]
    }

    /// Where the elements of an array stand in the archive: those in front of the first change and behind the last one, and all
    /// if their number is the same.
    func sources(ofElements elements: [AnyObject]) -> [EncodingPlace.Source] {
        var sources = Array(repeating: EncodingPlace.Source.new, count: elements.count)
        guard let origin, let original = places[places.count - 1].original else { return sources }
        let values = original.flatMap { Array($0.values) }.dropFirst()
        guard values.count != elements.count else { return values.map { .original($0) } }
        func isSame(_ element: AnyObject, _ value: TypedStreamValue) -> Bool {
            if case .label(let label) = value { return origin.object(label) === element }
            return element is NSNull
        }
        let front = zip(elements, values).prefix { isSame($0, $1) }
        for (position, pair) in front.enumerated() { sources[position] = .original(pair.1) }
        let rest = min(elements.count, values.count) - front.count
        let back = zip(elements.reversed(), values.reversed()).prefix(rest).prefix { isSame($0, $1) }
        for (position, pair) in back.enumerated() { sources[elements.count - 1 - position] = .original(pair.1) }
        return sources
    }

    /// The elements in the order in which the archive has them in the object being encoded, then those that are new.
    ///
    /// - Parameters:
    ///   - elements: The elements of a set, or the pairs of a dictionary.
    ///   - step: The number of values of an element, behind the count.
    ///   - key: The first of these.
    /// - Returns: The elements, each with where its values stand in the archive.
    func inOriginalOrder<Element>(
        _ elements: [Element], step: Int, _ key: (Element) -> AnyObject
    ) -> [(element: Element, sources: [EncodingPlace.Source])] {
        let new = Array(repeating: EncodingPlace.Source.new, count: step)
        guard let origin, let original = places[places.count - 1].original else { return elements.map { ($0, new) } }
        var positions: [ObjectIdentifier: Int] = [:]
        var nilPosition: Int?
        let values = original.flatMap { Array($0.values) }
        for (position, value) in values.enumerated() where position > 0 && position % step == 1 % step {
            guard case .label(let label) = value else {
                nilPosition = nilPosition ?? position
                continue
            }
            guard let object = origin.object(label) else { continue }
            if positions[ObjectIdentifier(object)] == nil { positions[ObjectIdentifier(object)] = position }
        }
        let known = elements.enumerated().map { position, element in
            let key = key(element)
            let place = positions[ObjectIdentifier(key)] ?? (key is NSNull ? nilPosition : nil)
            return (place: place ?? .max, position: position, element: element)
        }
        return known.sorted { ($0.place, $0.position) < ($1.place, $1.position) }.map { known in
            guard known.place < .max, known.place + step <= values.count else { return (known.element, new) }
            return (known.element, values[known.place..<known.place + step].map { .original($0) })
        }
    }
}

extension NSCodingTypedStreamUnarchiver {
    /// The values of an object.
    func groups(ofObject label: Int) -> TypedStreamGroups? {
        if case .object(let object) = graph.labels[label] { object.groups } else { nil }
    }

    /// The object that was made for a label; nil if none was.
    func object(_ label: Int) -> AnyObject? {
        if case .made(let object, _, _, _)? = slots[label] { object } else { nil }
    }
}
