import Foundation
import KeyedArchive

/// Foundation's classes as Apple's systems write them into typedstreams.
enum FoundationWriting {
    typealias Body = @Sendable (NSCodingTypedStreamArchiver, NSObject) throws -> Void

    /// The class that an object is written as.
    static func type(of object: NSObject) -> AnyClass {
        switch object {
        case is NSDecimalNumber: NSDecimalNumber.self
        case is CodedStructure: CodedStructure.self
        default: object.classForCoder
        }
    }

    /// The function that writes instances of exactly this class; nil if they write themselves.
    static func body(of type: AnyClass) -> Body? { forms[ObjectIdentifier(type)]?.body }

    /// The classes with versions that are written for a class.
    static func ancestry(of type: AnyClass) -> [ArchivedAncestry.Member]? { forms[ObjectIdentifier(type)]?.ancestry }

    private struct Form {
        let ancestry: [ArchivedAncestry.Member]
        let body: Body
    }

    private static let forms: [ObjectIdentifier: Form] = {
        var forms: [ObjectIdentifier: Form] = [:]
        func add(_ type: AnyClass, _ names: String..., body: @escaping Body) {
            let ancestry = (names + ["NSObject"]).map {
                ArchivedAncestry.Member(name: $0, version: TypedStreamFoundation.version(of: $0))
            }
            forms[ObjectIdentifier(type)] = Form(ancestry: ancestry, body: body)
        }
        add(NSNull.self, "NSNull") { _, _ in }
        add(NSString.self, "NSString", body: string)
        add(NSMutableString.self, "NSMutableString", "NSString", body: string)
        add(NSData.self, "NSData", body: data)
        add(NSMutableData.self, "NSMutableData", "NSData", body: data)
        add(NSArray.self, "NSArray", body: array)
        add(NSMutableArray.self, "NSMutableArray", "NSArray", body: array)
        add(NSSet.self, "NSSet", body: set)
        add(NSMutableSet.self, "NSMutableSet", "NSSet", body: set)
        add(NSDictionary.self, "NSDictionary", body: dictionary)
        add(NSMutableDictionary.self, "NSMutableDictionary", "NSDictionary", body: dictionary)
        add(NSNumber.self, "NSNumber", "NSValue", body: number)
        add(NSValue.self, "NSValue", body: value)
        add(CodedStructure.self, "NSValue", body: structure)
        add(NSDecimalNumber.self, "NSDecimalNumberPlaceholder", body: decimal)
        add(NSDate.self, "NSDate") { archiver, object in
            archiver.group("d")
            archiver.double(((object as? NSDate)?.timeIntervalSinceReferenceDate ?? 0).bitPattern)
        }
        add(NSTimeZone.self, "NSTimeZone", body: timeZone)
        add(NSURL.self, "NSURL", body: url)
        add(NSAttributedString.self, "NSAttributedString", body: attributed)
        add(NSMutableAttributedString.self, "NSMutableAttributedString", "NSAttributedString", body: attributed)
        return forms
    }()

    // MARK: Strings and bytes

    private static let string: Body = { archiver, object in
        var text = (object as? NSString) as String? ?? ""
        text.withUTF8 { archiver.text(UnsafeRawBufferPointer($0)) }
    }

    private static let data: Body = { archiver, object in
        archiver.write(data: (object as? NSData).map(NativeEncoding.bytes) ?? Data())
    }

    // MARK: Collections

    private static func count(_ archiver: NSCodingTypedStreamArchiver, _ type: String, _ count: Int) {
        archiver.group(type)
        archiver.integer(Int64(count), type.utf8.first ?? 0)
        archiver.endValue()
    }

    private static let array: Body = { archiver, object in
        let elements = RawElements.list(object)
        count(archiver, "i", elements.count)
        for (element, source) in zip(elements, archiver.sources(ofElements: elements)) {
            try archiver.writeElement(element, from: source)
        }
    }

    private static let set: Body = { archiver, object in
        let elements = archiver.inOriginalOrder(RawElements.list(object), step: 1) { $0 }
        count(archiver, "I", elements.count)
        for (element, sources) in elements {
            try archiver.writeElement(element, from: sources[0])
        }
    }

    private static let dictionary: Body = { archiver, object in
        let pairs = archiver.inOriginalOrder(RawElements.pairs(object), step: 2) { $0.key }
        count(archiver, "i", pairs.count)
        for (pair, sources) in pairs {
            try archiver.writeElement(pair.key, from: sources[0])
            try archiver.writeElement(pair.value, from: sources[1])
        }
    }

    // MARK: Attributed strings

    /// Runs, each with the number of its attributes from 1, and the attributes where the number is new.
    private static let attributed: Body = { archiver, object in
        guard let string = object as? NSAttributedString else { return }
        let text = NSMutableString(string: string.string)
        try archiver.writeElement(string is NSMutableAttributedString ? text : text.copy())
        var known: [(attributes: NSDictionary, object: NSDictionary)] = []
        var location = 0
        while location < string.length {
            var range = NSRange()
            let attributes = archiver.dictionary(of: string.attributes(at: location, effectiveRange: &range))
            let length = NSMaxRange(range) - location
            location += length
            let number = known.firstIndex { $0.attributes.isEqual(attributes) }
            if number == nil { known.append((attributes, attributes)) }
            archiver.group("iI")
            archiver.integer(Int64((number ?? known.count - 1) + 1), UInt8(ascii: "i"))
            archiver.integer(Int64(length), UInt8(ascii: "I"))
            archiver.endValue()
            archiver.endValue()
            if number == nil { try archiver.writeElement(attributes) }
        }
    }
}

extension NSCodingTypedStreamArchiver {
    /// Writes a group of one object.
    func writeElement(_ object: Any?) throws {
        group("@")
        try write(object)
        endValue()
    }

    /// Writes a group of an element of a collection, which is nil where it was read as `NSNull` instead.
    func writeElement(_ element: AnyObject, from source: EncodingPlace.Source) throws {
        if case .original(.null) = source, element is NSNull { return try writeElement(nil) }
        places[places.count - 1].source = source
        defer { places[places.count - 1].source = nil }
        try writeElement(element)
    }

    func endValue() { places[places.count - 1].count += 1 }

    /// The attributes of a run, with one string for each key in all runs.
    fileprivate func dictionary(of attributes: [NSAttributedString.Key: Any]) -> NSDictionary {
        let dictionary = NSMutableDictionary(capacity: attributes.count)
        for (name, value) in attributes {
            let key = attributeKeys[name.rawValue] ?? NSString(string: name.rawValue)
            attributeKeys[name.rawValue] = key
            dictionary[key] = value as AnyObject
        }
        return dictionary.copy() as? NSDictionary ?? dictionary
    }
}
