extension GraphView: Codable {
    /// Makes a view of what the decoder holds; under decoders of others, of the decoded value.
    ///
    /// - Throws: `ArchiveError` if the graph breaks a rule or a limit; what the value's own code throws.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? ArchiveValueDecoder {
            self = try decoder.singleValueContainer().decode(GraphView<Value>.self)
        } else {
            // A decoder of values makes a new one.
            nonisolated(unsafe) let value = try Value(from: decoder)
            self.init(value)
        }
    }

    /// Writes the value, as if it were encoded itself.
    ///
    /// - Throws: What the value's own code throws; for a view that was received, what `decoded()` throws.
    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? ArchiveValueEncoder {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        } else {
            if let local { try local.value.encode(to: encoder) } else { try decoded().encode(to: encoder) }
        }
    }
}

extension GraphView: NativelyArchived {
    static func makeWriter() -> AnyValueCoder {
        let value = ValueWriter<Value>.of(Value.self)
        return ValueWriter<GraphView<Value>> { view, coder in
            if let local = view.local {
                try value.write(local.value, coder)
            } else {
                try value.write(try view.decoded(), coder)
            }
        }
    }

    static func makeReader() -> AnyValueCoder {
        ValueReader<GraphView<Value>> { try GraphView(next: $0) }
    }
}
