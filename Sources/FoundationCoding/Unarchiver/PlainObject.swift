import Foundation
import KeyedArchive

/// Makes Foundation objects from the values of a property list.
struct PlainObject {
    private let unarchiver: NSCodingUnarchiver

    init(_ unarchiver: NSCodingUnarchiver) { self.unarchiver = unarchiver }

    func object(_ value: ArchivedValue, depth: Int) throws -> NSObject {
        guard depth < unarchiver.limits.depth else {
            throw ArchiveError(.limit, "values nested more than \(unarchiver.limits.depth) deep")
        }
        switch value {
        case .list, .map, .shared:
            guard depth > 0, depth.isMultiple(of: StackSegment.values) else { break }
            return try StackSegment.run { try content(value, depth) }
        default: break
        }
        return try content(value, depth)
    }

    private func content(_ value: ArchivedValue, _ depth: Int) throws -> NSObject {
        switch value {
        case .null: return NSNull()
        case .bool(let value): return NSNumber(value: value)
        case .integer(let value): return NSNumber(value: value)
        case .unsigned(let value): return NSNumber(value: value)
        case .float(let bits): return NSNumber(value: Float(bitPattern: bits))
        case .double(let bits): return NSNumber(value: Double(bitPattern: bits))
        case .string(let text): return NSString(string: text)
        case .brokenString(let units): return NSString(string: String(decoding: units, as: UTF16.self))
        case .data(let data): return NSData(data: data)
        case .date(let bits): return NSDate(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
        case .list(let values):
            let array = NSMutableArray(capacity: values.count)
            for value in values { array.add(try object(value, depth: depth + 1)) }
            return array.copy() as? NSArray ?? array
        case .map(let pairs):
            var keys: [NSObject] = []
            var values: [NSObject] = []
            for pair in pairs {
                keys.append(try object(pair.key, depth: depth + 1))
                values.append(try object(pair.value, depth: depth + 1))
            }
            try unarchiver.work.hash(pairs.map { unarchiver.cost(of: $0.key) })
            let dictionary = try Hashing.dictionary(keys, values, into: nil)
            return dictionary.copy() as? NSDictionary ?? dictionary
        case .shared(let index):
            if let known = unarchiver.sharedValues[index] { return known }
            guard unarchiver.graph.sharedValues.indices.contains(index) else {
                throw ArchiveError(.corrupt, "a missing shared value")
            }
            let made = try object(unarchiver.graph.sharedValues[index], depth: depth + 1)
            unarchiver.sharedValues[index] = made
            return made
        case .reference(let index):
            return try unarchiver.object(at: index) as? NSObject ?? NSNull()
        default: throw ArchiveError(.unsupported, "\(Scalar.kind(value)) that is not a Foundation object")
        }
    }
}
