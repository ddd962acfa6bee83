import Foundation
import KeyedArchive

/// An object being encoded, or the values that belong to none.
struct EncodingPlace {
    /// The number of values so far.
    var count = 0
    /// The values in the archive that is written again.
    var original: TypedStreamGroups?
    /// The labels of the numbers there in the order of their occurrence, the last first, once they are needed.
    var numbers: [ObjectIdentifier: [Int]]?
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
        case is NSMutableString, is NSMutableData, is NSMutableArray, is NSMutableSet, is NSMutableDictionary:
            return false
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

    /// The label that the next occurrence of a number has in the object that is written again.
    ///
    /// Small numbers of Foundation are one object each, of whatever kind they were read.
    func nextOriginal(of object: NSObject) -> Int? {
        guard let origin, object is NSNumber, let original = places[places.count - 1].original else { return nil }
        if places[places.count - 1].numbers == nil {
            var numbers: [ObjectIdentifier: [Int]] = [:]
            for group in original where group.type.description.utf8.contains(UInt8(ascii: "@")) {
                for case .label(let label) in group.values {
                    guard let number = origin.object(label), number is NSNumber else { continue }
                    numbers[ObjectIdentifier(number), default: []].append(label)
                }
            }
            places[places.count - 1].numbers = numbers.mapValues { $0.reversed() }
        }
        return places[places.count - 1].numbers?[ObjectIdentifier(object)]?.popLast()
    }

    /// The elements in the order in which the archive has them in the object being encoded, then those that are new.
    ///
    /// - Parameters:
    ///   - elements: The elements of a set, or the pairs of a dictionary.
    ///   - step: The number of values of an element, behind the count.
    ///   - key: The first of these.
    func inOriginalOrder<Element>(_ elements: [Element], step: Int, _ key: (Element) -> AnyObject) -> [Element] {
        guard let origin, let original = places[places.count - 1].original else { return elements }
        var positions: [ObjectIdentifier: Int] = [:]
        for (position, value) in original.flatMap({ Array($0.values) }).enumerated() where position % step == 1 % step {
            guard case .label(let label) = value, let object = origin.object(label) else { continue }
            if positions[ObjectIdentifier(object)] == nil { positions[ObjectIdentifier(object)] = position }
        }
        let known = elements.enumerated().map { position, element in
            (place: positions[ObjectIdentifier(key(element))] ?? .max, position: position, element: element)
        }
        return known.sorted { ($0.place, $0.position) < ($1.place, $1.position) }.map(\.element)
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
