// The signatures of the interfaces that an interface extends, and the way to use an object by one of those.
//
// One subscript for each level: a chain of dynamic members would cost microseconds a message.
extension Remote where I: Extending {
    /// A message of the interface that this one extends.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        dynamicMember path: KeyPath<I.Base, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.base.record(path))
    }

    /// As with a dot, for a message that has the name of a member of `Remote`.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        path: KeyPath<I.Base, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.base.record(path))
    }
}

extension Remote where I: Extending, I.Base: Extending {
    /// A message of the interface two levels below.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        dynamicMember path: KeyPath<I.Base.Base, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.base.base.record(path))
    }

    /// As with a dot, for a message that has the name of a member of `Remote`.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        path: KeyPath<I.Base.Base, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.base.base.record(path))
    }
}

extension Remote where I: Extending, I.Base: Extending, I.Base.Base: Extending {
    /// A message of the interface three levels below.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        dynamicMember path: KeyPath<I.Base.Base.Base, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.base.base.base.record(path))
    }

    /// As with a dot, for a message that has the name of a member of `Remote`.
    @inlinable
    public subscript<Result, each Argument: Codable & SendableMetatype>(
        path: KeyPath<I.Base.Base.Base, Signature<Result, repeat each Argument>>
    ) -> RemoteMethod<Result, repeat each Argument> {
        RemoteMethod(object, shape.base.base.base.record(path))
    }
}

extension Remote {
    /// Not for use: it says what to write where no interface of the remote's is the wanted one.
    @available(
        *, unavailable,
        message:
            "the interface of this Remote does not extend that one; `try Remote<…>(remote.object)` checks whether the object answers it"
    )
    public init<Other: Interface>(_ remote: Remote<Other>) {
        fatalError("the compiler refuses each use")
    }

    /// The same object, used by an interface that its own extends.
    public init<Extended: Extending>(_ remote: Remote<Extended>) where Extended.Base == I {
        self.init(remote.object, remote.shape.base)
    }

    /// The same object, used by the interface two levels below its own.
    public init<Extended: Extending>(_ remote: Remote<Extended>)
    where Extended.Base: Extending, Extended.Base.Base == I {
        self.init(remote.object, remote.shape.base.base)
    }

    /// The same object, used by the interface three levels below its own.
    public init<Extended: Extending>(_ remote: Remote<Extended>)
    where Extended.Base: Extending, Extended.Base.Base: Extending, Extended.Base.Base.Base == I {
        self.init(remote.object, remote.shape.base.base.base)
    }
}
