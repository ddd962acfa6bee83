extension Optional: NativelyArchived where Wrapped: Codable {
    static func makeWriter() -> AnyValueCoder {
        let wrapped = ValueWriter<Wrapped>.of(Wrapped.self)
        let isNested = Wrapped.self is any AnyOptional.Type
        return ValueWriter<Wrapped?> { value, coder in
            guard let value else { return coder.output.byte(Tag.none) }
            // The tag distinguishes an inner nil from an outer one.
            guard isNested else { return try wrapped.write(value, coder) }
            try coder.nested {
                coder.output.byte(Tag.some)
                try wrapped.write(value, coder)
            }
        }
    }

    static func makeReader() -> AnyValueCoder {
        let wrapped = ValueReader<Wrapped>.of(Wrapped.self)
        let isNested = Wrapped.self is any AnyOptional.Type
        return ValueReader<Wrapped?> { coder in
            if try coder.readNil() { return .none }
            if isNested { try coder.expectOptional() }
            return try wrapped.read(coder)
        }
    }
}

extension Array: NativelyArchived where Element: Codable {
    static func makeWriter() -> AnyValueCoder {
        if Element.self is any _ExternallyCodable.Type == false, let objects = Element.self as? any ObjectCoding.Type {
            return objectArrayWriter(objects)
        }
        if Element.self == UInt8.self { return ValueWriter<[UInt8]> { try $1.write(bytes: $0) } }
        if let kind = PackedKind.of(Element.self), let scalar = Element.self as? any (BitwiseCopyable & Codable).Type {
            return scalarArrayWriter(scalar, kind)
        }
        let element = ValueWriter<Element>.of(Element.self)
        return ValueWriter<[Element]> { try $1.writeList($0, element) }
    }

    static func makeReader() -> AnyValueCoder {
        if Element.self is any _ExternallyCodable.Type == false, let objects = Element.self as? any ObjectCoding.Type {
            return objectArrayReader(objects)
        }
        if Element.self == UInt8.self { return ValueReader<[UInt8]> { try $0.readByteList() } }
        if let kind = PackedKind.of(Element.self), let scalar = Element.self as? any (BitwiseCopyable & Codable).Type {
            return scalarArrayReader(scalar, kind)
        }
        let element = ValueReader<Element>.of(Element.self)
        return ValueReader<[Element]> { coder in
            var result: [Element] = []
            try coder.readElements(
                "a list", element, { result.append($0) }, reserve: { result.reserveCapacity($0) })
            return result
        }
    }
}

extension ContiguousArray: NativelyArchived where Element: Codable {
    static func makeWriter() -> AnyValueCoder {
        let list = ValueWriter<[Element]>.of([Element].self)
        return ValueWriter<ContiguousArray<Element>> { try list.write(Array($0), $1) }
    }

    static func makeReader() -> AnyValueCoder {
        let list = ValueReader<[Element]>.of([Element].self)
        return ValueReader<ContiguousArray<Element>> { ContiguousArray(try list.read($0)) }
    }
}

extension Set: NativelyArchived where Element: Codable {
    static func makeWriter() -> AnyValueCoder {
        let element = ValueWriter<Element>.of(Element.self)
        return ValueWriter<Set<Element>> { try $1.writeList($0, tag: Tag.set, element) }
    }

    static func makeReader() -> AnyValueCoder {
        let element = ValueReader<Element>.of(Element.self)
        return ValueReader<Set<Element>> { coder in
            var result: Set<Element> = []
            try coder.readElements(
                "a set", element, { result.insert($0) }, reserve: { result.reserveCapacity($0) })
            return result
        }
    }
}

extension Dictionary: NativelyArchived where Key: Codable, Value: Codable {
    static func makeWriter() -> AnyValueCoder {
        let key = ValueWriter<Key>.of(Key.self)
        let value = ValueWriter<Value>.of(Value.self)
        return ValueWriter<[Key: Value]> { dictionary, coder in
            try coder.checkCount(dictionary.count)
            try coder.nested {
                coder.output.counted(Tag.map, dictionary.count)
                var index = 0
                for (name, content) in dictionary {
                    do {
                        try coder.writeKey(name, index, key)
                        try value.write(content, coder)
                    } catch {
                        throw coder.failedEntry(error)
                    }
                    index += 1
                }
            }
        }
    }

    static func makeReader() -> AnyValueCoder {
        let key = ValueReader<Key>.of(Key.self)
        let value = ValueReader<Value>.of(Value.self)
        return ValueReader<[Key: Value]> { coder in
            if coder.isDictionaryByParts { return try coder.readCodable([Key: Value].self) }
            let count = try coder.openDictionary()
            var result: [Key: Value] = [:]
            result.reserveCapacity(coder.bounded(count, (Key, Value).self))
            try coder.nested {
                for index in 0..<count {
                    let name = try coder.readKey(key, index)
                    do {
                        guard result.updateValue(try value.read(coder), forKey: name) == nil else {
                            throw ArchiveError(.duplicateKey, "a key occurs twice in a dictionary")
                        }
                    } catch {
                        throw coder.failedEntry(error)
                    }
                }
            }
            return result
        }
    }
}

private func objectArrayWriter<O: ObjectCoding>(_ type: O.Type) -> AnyValueCoder {
    ValueWriter<[O]> { try $1.write(objects: $0) }
}

private func objectArrayReader<O: ObjectCoding>(_ type: O.Type) -> AnyValueCoder {
    ValueReader<[O]> { try $0.readObjects(O.self) }
}

private func scalarArrayWriter<E: BitwiseCopyable & Codable>(_ type: E.Type, _ kind: PackedKind) -> AnyValueCoder {
    ValueWriter<[E]> { values, coder in
        try values.withUnsafeBufferPointer { try coder.write(packed: $0, kind) }
    }
}

private func scalarArrayReader<E: BitwiseCopyable & Codable>(_ type: E.Type, _ kind: PackedKind) -> AnyValueCoder {
    let element = ValueReader<E>.of(E.self)
    return ValueReader<[E]> { try $0.readScalars(E.self, kind, element) }
}
