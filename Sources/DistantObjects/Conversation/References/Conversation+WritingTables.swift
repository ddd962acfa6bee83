import KeyedArchive

// The tables of a message that this side sends.
extension Conversation {
    /// Writes the reference table and the shapes of a message.
    ///
    /// This is the only place that assigns ids to objects and numbers to shapes.
    mutating func writeTables(of encoder: ObjectEncoder, _ host: Host) {
        guard encoder.hasTables else {
            outbox.append(byte: 0)
            outbox.append(byte: 0)
            return
        }
        outbox.append(encoder.externalCount)
        var classBytes = describesClasses ? ProtocolLimits.descriptionBytes : 0
        encoder.forEachExternal { object in
            switch host.entry(of: object) {
            case .proxy(.object(let id)): Reference.receivers(id).append(to: &outbox)
            case .proxy(.answer(let ticket)): Reference.answer(questions.number(of: ticket)).append(to: &outbox)
            case .stream(let inbox):
                streams.passBack(inbox, in: sent + 1, isOpen: phase == .open).append(to: &outbox)
            // `checkOwners` has refused a message with such an object before.
            case .foreign: DeadStream.used.reference.append(to: &outbox)
            case .own:
                if let entry = streams.reference(to: object, isOpen: phase == .open, limit: limits.streams)
                    ?? blobReference(to: object)
                {
                    entry.append(to: &outbox)
                } else {
                    writeMention(of: object, &classBytes)
                }
            }
        }
        outbox.append(encoder.shapeCount)
        encoder.forEachShape { shape in
            switch shapeTables.sent.reference(to: shape, taking: shape.definition.count) {
            case .known(let number):
                outbox.append(UInt64(number) + 2)
            case .new:
                outbox.append(byte: 0)
                outbox.append(definition: shape.definition)
            case .inline:
                outbox.append(byte: 1)
                outbox.append(definition: shape.definition)
            }
        }
    }

    /// Writes a mention of an object of this process, with the object's class if there is room for the class.
    ///
    /// - Parameter classBytes: The bytes that the classes of this message may still take.
    private mutating func writeMention(of object: AnyObject, _ classBytes: inout Int) {
        let messages = ClassMessages.known(object)
        let id = exports.mention(object, messages: messages, number: sent + 1)
        // The peer has known the root directory from the start.
        let mayHaveClass = classBytes > 0 && id != .rootDirectory
        let naming = mayHaveClass ? classReference(messages, within: classBytes) : .inline
        if case .inline = naming { return Reference.senders(id).append(to: &outbox) }
        Reference.described(id).append(to: &outbox)
        let idEnd = outbox.count
        if case .known(let number) = naming {
            ClassEntry.append(known: number, to: &outbox)
        } else {
            messages._withUnsafeGuaranteedRef {
                ClassEntry.append(new: $0.described?.definition ?? [], to: &outbox)
            }
        }
        classBytes -= outbox.count - idEnd
    }

    /// How a class is named in a table of references: by its number, or with its description; `.inline` if it is not named.
    private mutating func classReference(
        _ messages: Unmanaged<ClassMessages>, within room: Int
    ) -> Naming {
        guard room > 10 else { return .inline }
        let key = UnsafeRawPointer(messages.toOpaque())
        // The size is asked for only where the class is new. A class that has no room gets no number either.
        return classesOut.reference(
            to: key, taking: messages._withUnsafeGuaranteedRef { $0.described?.definition.count ?? .max },
            within: room - 10)
    }
}
