public import Foundation
import KeyedArchive

extension NSCodingUnarchiver {
    /// Ends decoding; later calls are errors.
    public func finishDecoding() {
        guard !isFinished else { return }
        delegate?.unarchiverWillFinish(self)
        isFinished = true
        delegate?.unarchiverDidFinish(self)
    }

    /// The keys at the top of the archive.
    public var keys: [String] { graph.lentRoots.keys }

    /// Decodes an array of objects of one class.
    ///
    /// - Complexity: Linear in the number of objects that the array reaches and that are not decoded yet.
    public func decodeArrayOfObjects<T: NSObject & NSCoding>(ofClass type: T.Type, forKey key: String) -> [T]? {
        let object = decodeObject(of: [NSArray.self, type], forKey: key)
        return (object as? NSArray).flatMap { array in
            let elements = RawElements.list(array).compactMap { $0 as? T }
            return elements.count == array.count ? elements : mismatch("an array of \(T.self)", key)
        }
    }

    /// Decodes a dictionary with keys of one class and values of another.
    ///
    /// - Complexity: Linear in the number of objects that the dictionary reaches and that are not decoded yet.
    public func decodeDictionary<Key: NSObject & NSCoding, Value: NSObject & NSCoding>(
        withKeysOfClass keyType: Key.Type, objectsOfClass valueType: Value.Type, forKey key: String
    ) -> [Key: Value]? {
        let object = decodeObject(of: [NSDictionary.self, keyType, valueType], forKey: key)
        return (object as? NSDictionary).flatMap { dictionary in
            var result: [Key: Value] = [:]
            for pair in RawElements.pairs(dictionary) {
                guard let key = pair.key as? Key, let value = pair.value as? Value else { break }
                result[key] = value
            }
            return result.count == dictionary.count
                ? result : mismatch("a dictionary of \(Key.self) and \(Value.self)", key)
        }
    }

    private func mismatch<T>(_ expected: String, _ key: String) -> T? {
        fail(ArchiveError(.typeMismatch, "expected \(expected)"), [.key(key)])
        return nil
    }

    /// Decodes an object that may refer back to the one being decoded, and delivers it as soon as it exists.
    ///
    /// That is at once, or when its own `init(coder:)` has returned. Cycles need this method: other objects cannot
    /// refer to an object while its `init(coder:)` runs.
    ///
    /// - Parameters:
    ///   - type: The class the object must have.
    ///   - key: The object's key; `action` is not called if there is no value.
    ///   - action: Receives the object, at most once. Capture `self` weakly or unowned if it may go away before.
    public func decodeReference<T: NSObject & NSCoding>(
        of type: T.Type, forKey key: String, perform action: @escaping (T) -> Void
    ) {
        let isLater = keyed(key, false) { value in
            guard case .reference(let index) = value, case .making(nil)? = slots[index],
                let record = graph.objects[index].record, NativeDecoding.emptyCollection(of: try resolve(record)) == nil
            else { return false }
            lists.append(list(of: [type]))
            defer { lists.removeLast() }
            try check(try resolve(record))
            waiting[index, default: []].append { if let object = $0 as? T { action(object) } }
            return true
        }
        if !isLater, let object = decodeObject(of: type, forKey: key) { action(object) }
    }
}

extension NSCoder {
    /// Decodes an object that may refer back to the one being decoded.
    ///
    /// With `NSCodingUnarchiver`, this is its method of the same name. Other coders decode the object at once.
    public func decodeReference<T: NSObject & NSCoding>(
        ofClass type: T.Type, forKey key: String, perform action: @escaping (T) -> Void
    ) {
        if let unarchiver = self as? NSCodingUnarchiver {
            unarchiver.decodeReference(of: type, forKey: key, perform: action)
        } else if let object = decodeObject(of: type, forKey: key) {
            action(object)
        }
    }
}
